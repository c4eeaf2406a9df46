import { CORE_CLEANUP_FINALIZER, FIELD_MANAGERS, parseApiName } from "../../common/api/names.ts";
import {
  condition,
  type Connection,
  CONNECTIONS,
  type ExportedApi,
  hasFinalizer,
  isDeleting,
  isReady,
  SECRETS,
} from "../../common/api/resources.ts";
import { done, type Outcome, requeueAfter } from "../../common/control/controller.ts";
import { errorChain } from "../../common/errors.ts";
import { isForbidden } from "../../common/kube/kube_error.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import { isPendingAgain, isSameStatus } from "../conditions.ts";
import { allBindings } from "../consumer_caches.ts";
import { deniedRetryMs } from "../denied_retry.ts";
import { addCleanup, learned, removeCleanup } from "../finalizer.ts";
import { pauseOf } from "../pause.ts";
import { CrdRefusedError } from "../schema/consumer_crd.ts";
import { isPulledBy } from "../schema/install_crd.ts";
import { isMadeBy } from "./auto_bind.ts";
import { connectionStatus, type ConnectionView, EXPIRES_SOON } from "./connection_status.ts";
import { type Credential, readCredential, SecretError } from "./credential.ts";
import { MOST_APIS } from "./offered_apis.ts";
import { isCredentialRefused, type ProviderLink } from "./provider_link.ts";
import { REFUSED_PROBE_MS, type RefusedCredentials } from "./refused_credentials.ts";
import { deleteBinding, endHeartbeat, releaseSecret, removeUnbound } from "./release_connection.ts";
import { type OfferDeps, takeOffers } from "./take_offers.ts";
import { expiryNote, expiryOf, nextLookMs } from "./token_expiry.ts";

/** What the reconcile of a Connection works with. */
export interface ConnectionDeps extends OfferDeps {
  readonly secretNamespaces: readonly string[];
  readonly refused: RefusedCredentials;
  /** Identity of the consumer cluster. */
  readonly clusterUid: string;
  readonly recordEvent: RecordEvent;
}

/** A provider that is away for less than this is not reported. */
const AWAY_MS = 10_000;
const RETRY_MS = 5_000;
/** How long releasing the heartbeat may take. */
const RELEASE_MS = 5_000;

/** Brings the link of a Connection, its finalizers and its status up to date. */
export async function reconcileConnection(
  deps: ConnectionDeps,
  name: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const { caches, links, consumer, refused } = deps;
  const found = caches.connections.get({ name });
  if (!found) {
    links.close(name);
    refused.forget(name);
    return done;
  }
  if (isDeleting(found)) return await release(deps, found, signal);
  const connection = learned(
    caches.connections,
    await addCleanup(consumer, CONNECTIONS, found, signal),
  );
  const { view, outcome } = await look(deps, connection, signal);
  const pause = pauseOf(connection);
  const taken = !pause && view.exportedApis && await takeOffers(deps, connection, signal);
  await store(deps, connection, { ...view, ...taken, pause }, signal);
  return outcome;
}

interface Look {
  readonly view: ConnectionView;
  readonly outcome: Outcome;
}

async function look(
  deps: ConnectionDeps,
  connection: Connection,
  signal: AbortSignal,
): Promise<Look> {
  const { links, clusterUid: localUid } = deps;
  const { name } = connection.metadata;
  let credential: Credential;
  try {
    credential = await readCredential(deps.consumer, connection, deps.secretNamespaces, signal);
  } catch (error) {
    if (!(error instanceof SecretError)) throw error;
    links.close(name);
    return { view: { localUid, secretFault: error }, outcome: done }; // the Secret's event comes
  }
  await addCleanup(deps.consumer, SECRETS, credential.secret, signal);
  const refusal = deps.refused.find(name, credential);
  const looked = refusal
    ? { view: { localUid, ...faultOf(refusal.error) }, outcome: requeueAfter(refusal.restMs) }
    : await lookWith(deps, connection, credential, signal);
  const expiry = expiryOf(credential.target);
  if (!expiry) return looked;
  const now = links.get(name)?.now() ?? new Date();
  const nextMs = nextLookMs(expiry, now);
  const { outcome } = looked;
  return {
    view: { ...looked.view, expiry: expiryNote(expiry, now) },
    outcome: outcome.kind === "done" && nextMs !== undefined ? requeueAfter(nextMs) : outcome,
  };
}

/** Connects with a credential, and examines the provider. */
async function lookWith(
  deps: ConnectionDeps,
  connection: Connection,
  credential: Credential,
  signal: AbortSignal,
): Promise<Look> {
  const { links, clusterUid: localUid } = deps;
  const { name } = connection.metadata;
  let link: ProviderLink;
  try {
    const { source = "Auto" } = connection.spec.schema ?? {};
    link = await links.open(name, credential, source, signal);
  } catch (error) {
    links.close(name); // one that an earlier kubeconfig opened
    if (isCredentialRefused(error)) deps.refused.add(name, credential, error);
    return { view: { localUid, ...faultOf(error) }, outcome: retryAfter(error) };
  }
  const pinned = connection.status?.remoteClusterUID;
  if (pinned && pinned !== link.remoteUid) {
    links.close(name);
    const message = `The kubeconfig leads to the cluster ${link.remoteUid}, not to ${pinned}; ` +
      "nothing is synced until it leads there again";
    const linkFault = { reason: "ClusterIdentityChanged", message };
    return { view: { localUid, linkFault }, outcome: requeueAfter(REFUSED_PROBE_MS) };
  }
  links.start(link);
  return await lookThrough(deps, connection, credential, link, signal);
}

/** Examines a provider through its open link. */
async function lookThrough(
  { links, clusterUid: localUid, caches, refused }: ConnectionDeps,
  { metadata: { name } }: Connection,
  credential: Credential,
  link: ProviderLink,
  signal: AbortSignal,
): Promise<Look> {
  const { remoteUid, failure } = link;
  const refuse = (error: unknown): Look => {
    if (isCredentialRefused(error)) {
      links.close(name);
      refused.add(name, credential, error);
    }
    return { view: { localUid, remoteUid, ...faultOf(error) }, outcome: retryAfter(error) };
  };
  if (isCredentialRefused(failure)) return refuse(failure);
  const awayMs = link.awayMs();
  if (awayMs !== undefined && awayMs >= AWAY_MS) {
    return { view: { localUid, remoteUid, ...faultOf(failure) }, outcome: done };
  }
  const outcome = awayMs === undefined ? done : requeueAfter(AWAY_MS - awayMs + 10);
  if (!link.hasSynced) {
    const pending = { reason: "Pending", message: "The provider's APIs are being read" };
    if (failure !== undefined) {
      return { view: { localUid, remoteUid, ...faultOf(failure) }, outcome };
    }
    return { view: { localUid, remoteUid, linkFault: pending }, outcome };
  }
  let exportedApis: ExportedApi[];
  try {
    exportedApis = await readExported(link, signal);
  } catch (error) {
    if (isCredentialRefused(error) || isForbidden(error)) return refuse(error);
    throw error;
  }
  const bound = new Set(
    [...allBindings(caches)]
      .filter((binding) => binding.spec.connectionRef.name === name && !isDeleting(binding))
      .flatMap((binding) => binding.spec.apis.map((api) => api.name)),
  );
  const withdrawn = [...bound].filter((api) => link.api(api)?.isExported === false).sort();
  const deleted = [...bound].filter((api) => {
    const crd = caches.crds.get({ name: api });
    return crd && isPulledBy(name, crd) && !link.api(api);
  }).sort();
  const { activeSource: source, heartbeatDenied } = link;
  return {
    view: { localUid, remoteUid, exportedApis, source, heartbeatDenied, withdrawn, deleted },
    outcome,
  };
}

async function readExported(link: ProviderLink, signal: AbortSignal): Promise<ExportedApi[]> {
  const listed: ExportedApi[] = [];
  for (const { name } of link.exported().slice(0, MOST_APIS)) {
    const details = await link.describe(name, signal).catch(nothingIfRefused);
    const parsed = parseApiName(name);
    if (!details || !parsed) continue;
    listed.push({ name, group: parsed.group, resource: parsed.plural, ...details });
  }
  return listed;
}

/** An API that cannot be used is not listed. */
function nothingIfRefused(error: unknown): undefined {
  if (!(error instanceof CrdRefusedError)) throw error;
}

/** Says what an error of the provider means for the Connection. */
function faultOf(error: unknown): Pick<ConnectionView, "linkFault" | "denied"> {
  const message = errorChain(error);
  if (isCredentialRefused(error)) {
    const remedy = "The provider does not accept the credential; bind again to get a new one";
    return { linkFault: { reason: "CredentialsRejected", message: remedy } };
  }
  if (isForbidden(error)) return { linkFault: { reason: "Forbidden", message }, denied: message };
  return { linkFault: { reason: "ProviderUnreachable", message } };
}

function retryAfter(error: unknown): Outcome {
  if (isCredentialRefused(error)) return requeueAfter(REFUSED_PROBE_MS);
  return requeueAfter(isForbidden(error) ? deniedRetryMs() : RETRY_MS);
}

async function store(
  { consumer, caches, clusterUid, recordEvent, log }: ConnectionDeps,
  connection: Connection,
  view: ConnectionView,
  signal: AbortSignal,
): Promise<void> {
  const status = connectionStatus(connection, view, new Date());
  if (isSameStatus(status, connection.status) || isPendingAgain(connection, status)) return;
  const { apiVersion, kind, metadata: { name } } = connection;
  const applied = { apiVersion, kind, metadata: { name }, status } as Connection;
  const manager = FIELD_MANAGERS.konnector;
  const stored = await consumer.applyStatus(CONNECTIONS, applied, manager, signal);
  caches.connections.learn(stored, manager);
  for (const type of ["Ready", "SchemaInSync", "AutoBound"]) {
    const now = condition({ ...connection, status }, type);
    const before = condition(connection, type);
    if (!now || now.status === before?.status && now.reason === before.reason) continue;
    const { status: judged, reason, message } = now;
    log.info("Connection changed", { connection: name, type, status: judged, reason, message });
    if (judged === "False" && !["Pending", "Paused"].includes(reason)) {
      recordEvent(connection, "Warning", reason, message || `${type} is False`);
    }
  }
  const secret = condition({ ...connection, status }, "SecretValid");
  if (
    secret?.reason === EXPIRES_SOON &&
    secret.message !== condition(connection, "SecretValid")?.message
  ) {
    recordEvent(connection, "Warning", secret.reason, secret.message);
  }
  const denied = condition({ ...connection, status }, "PermissionDenied");
  const isDeniedNow = denied?.status === "True" && isReady({ ...connection, status }) &&
    condition(connection, "PermissionDenied")?.status !== "True";
  if (isDeniedNow) recordEvent(connection, "Warning", denied.reason, denied.message);
  if (status.localClusterUID !== clusterUid) {
    log.warn("the Connection was made on another cluster", { connection: name });
  }
}

/** Lets a Connection go once no binding uses it: the heartbeat ends, the Secret is released. */
async function release(
  deps: ConnectionDeps,
  connection: Connection,
  signal: AbortSignal,
): Promise<Outcome> {
  const { caches, links, consumer, clusterUid: localUid, log } = deps;
  const { name } = connection.metadata;
  if (!hasFinalizer(connection, CORE_CLEANUP_FINALIZER)) return done;
  deps.schema.want(name, []);
  const users = [...allBindings(caches)].filter(({ spec }) => spec.connectionRef.name === name);
  const draining = users.map(({ metadata }) =>
    metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name
  );
  const pause = pauseOf(connection);
  const isHeld = pause?.reason === "AnnotationInvalid";
  if (draining.length > 0 || isHeld) {
    // The garbage collector would wait for the Connection, which waits for its bindings.
    const own = users.find((each) => isMadeBy(connection, each) && !isDeleting(each));
    if (own && !isHeld) await deleteBinding(deps, own, signal);
    // The bindings need the link to delete their copies.
    const { view, outcome } = await look(deps, connection, signal);
    await store(deps, connection, { ...view, draining, pause }, signal);
    return outcome;
  }
  await endHeartbeat(deps, connection, AbortSignal.any([signal, AbortSignal.timeout(RELEASE_MS)]))
    .catch((error) =>
      log.warn("cannot delete the heartbeat", { connection: name, error: errorChain(error) })
    );
  links.close(name);
  if (connection.spec.schema?.pullPolicy === "All") await removeUnbound(deps, name, signal);
  await releaseSecret(deps, connection, signal);
  await removeCleanup(consumer, CONNECTIONS, connection, signal, caches.connections);
  log.info("Connection released", { connection: name, localUid });
  return done;
}

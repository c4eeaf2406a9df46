import { ANNOTATIONS } from "../../common/api/names.ts";
import {
  CRDS,
  type CustomResourceDefinition,
  isDeleting,
  type KubeObject,
} from "../../common/api/resources.ts";
import { done, type Outcome, requeueAfter } from "../../common/control/controller.ts";
import type { ShowController } from "../../common/control/controller_metrics.ts";
import { errorChain } from "../../common/errors.ts";
import type { CacheReports } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import { isForbidden, isServerFailure, KubeError } from "../../common/kube/kube_error.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import type { Log } from "../../common/log/log.ts";
import type { Links } from "../connections/links.ts";
import { isCredentialRefused, type ProviderLink } from "../connections/provider_link.ts";
import { allBindings, type ConsumerCaches, providerOf } from "../consumer_caches.ts";
import { deniedRetryMs } from "../denied_retry.ts";
import { commonType, CrdRefusedError, type PulledCrd, pulledCrd } from "../schema/consumer_crd.ts";
import { installCrd, isPulled, whenServed } from "../schema/install_crd.ts";
import { ApiSync } from "../sync/api_sync.ts";
import { reasonOf, refusalOf } from "../sync/refusals.ts";
import type { BoundType, NamespaceCoverage } from "../sync/sync_context.ts";
import { type ApiCoverage, coverageOf } from "./coverage.ts";
import { Apis, type ApiState, type Reach } from "./apis.ts";

/** What the reconcile of an API works with. */
export interface ApiDeps {
  readonly consumer: KubeClient;
  readonly caches: ConsumerCaches;
  readonly links: Links;
  readonly apis: Apis;
  /** Identity of the consumer cluster. */
  readonly clusterUid: string;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
  readonly metrics: { readonly controller: ShowController };
  readonly onSynced: (api: string, direction: "up" | "down", ms: number) => void;
  readonly reportsOf: (what: string) => CacheReports;
}

const REFUSED_RETRY_MS = 60_000;
const CRD_RETRY_MS = 1_000;

/** Starts, adapts or stops the sync of one API as its bindings and its Connection want it. */
export async function reconcileApi(
  deps: ApiDeps,
  api: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const { apis, links, caches } = deps;
  const coverage = coverageOf(api, allBindings(caches), providerOf(caches));
  if (!coverage) {
    apis.stop(api);
    return done;
  }
  const link = links.get(coverage.connection);
  if (!link?.crds.hasSynced) {
    apis.pause(api, { coverage, reason: "Pending", message: "The Connection is not ready" });
    return done;
  }
  if (link.awayMs() !== undefined) {
    apis.cover(api, coverage);
    return done; // a link that works again wakes its APIs
  }
  try {
    return await pullAndSync(deps, api, coverage, link, signal);
  } catch (error) {
    if (isCredentialRefused(error)) {
      link.reject(error);
      return done; // the end of the link pauses the API
    }
    if (isServerFailure(error) && link.awayMs() !== undefined) return done;
    if (!isForbidden(error)) throw error;
    apis.pause(api, { coverage, reason: "Forbidden", message: reasonOf(error), isDenied: true });
    return requeueAfter(deniedRetryMs());
  }
}

async function pullAndSync(
  deps: ApiDeps,
  api: string,
  coverage: ApiCoverage,
  link: ProviderLink,
  signal: AbortSignal,
): Promise<Outcome> {
  const { apis, caches } = deps;
  const present = caches.crds.get({ name: api });
  const isInstalled = present !== undefined && isPulled(present);
  const provided = link.api(api);
  // What is synced goes on when the provider takes its export back: only new APIs need the label.
  if (!provided || !provided.isExported && !isInstalled) {
    const message = `The provider does not export ${api}`;
    apis.pause(api, { coverage, reason: "APINotExported", message, isGone: !provided });
    return done;
  }
  const crd = await link.readCrd(api, signal);
  if (!crd) return requeueAfter(CRD_RETRY_MS);
  let pulled: PulledCrd;
  try {
    pulled = pulledCrd(crd, coverage.connection);
  } catch (error) {
    if (!(error instanceof CrdRefusedError)) throw error;
    apis.pause(api, {
      coverage,
      reason: "Rejected",
      message: `Its CRD is not pulled: ${error.message}`,
    });
    return done;
  }
  const installed = await install(deps, api, coverage, { pulled, crd }, signal);
  if ("reason" in installed) {
    apis.pause(api, { coverage, ...installed });
    return requeueAfter(REFUSED_RETRY_MS);
  }
  const reach = await reachOf(link, installed.type, signal);
  if (reach.kind === "none") {
    const message = `The credential may not list ${api} on the provider`;
    apis.pause(api, { coverage, reason: "Forbidden", message, isDenied: true });
    return requeueAfter(deniedRetryMs());
  }
  sync(deps, api, coverage, link, installed, reach);
  return installed.problem ? requeueAfter(REFUSED_RETRY_MS) : done;
}

interface Problem {
  readonly reason: string;
  readonly message: string;
}

/** A CRD on the consumer that objects can be synced with. */
interface InstalledCrd extends Pick<PulledCrd, "type" | "hash"> {
  /** Why it is not the provider's present one. */
  readonly problem?: Problem;
}

/** Installs the CRD on the consumer, or uses the present one. Returns why neither is possible. */
async function install(
  { consumer, caches, recordEvent, log }: ApiDeps,
  api: string,
  { owner, connection }: ApiCoverage,
  { pulled, crd }: { readonly pulled: PulledCrd; readonly crd: CustomResourceDefinition },
  signal: AbortSignal,
): Promise<Problem | InstalledCrd> {
  const { schema } = caches.connections.get({ name: connection })?.spec ?? {};
  const present = caches.crds.get({ name: api });
  if (schema?.pullPolicy === "None") {
    return present ? await usePresent(consumer, present, crd, signal) : {
      reason: "Pending",
      message: `pullPolicy is None, and the CRD ${api} is missing on this cluster`,
    };
  }
  // The end of an unbind removes the CRD before its binding.
  if (isDeleting(owner) && !present) return { reason: "Pending", message: `${api} is unbound` };
  const isOnce = schema?.updatePolicy === "Once" && present !== undefined && isPulled(present) &&
    present.metadata.annotations?.[ANNOTATIONS.connection] === connection;
  if (isOnce) return await usePresent(consumer, present, crd, signal);
  try {
    switch (await installCrd({ consumer, crds: caches.crds }, pulled, signal)) {
      case "current":
        return pulled;
      case "installed":
        log.info("installed a CRD", { api, version: pulled.type.version, hash: pulled.hash });
        await whenServed(consumer, pulled.type, signal);
        return pulled;
      case "deleting":
        return { reason: "Pending", message: `An old CRD ${api} is being deleted` };
      case "foreign":
        return {
          reason: "ForeignObjectExists",
          message: `This cluster has its own CRD ${api}, which xbind does not touch; ` +
            "delete it, or unbind the API",
        };
    }
  } catch (error) {
    const isRefused = error instanceof KubeError && [400, 403, 413, 422].includes(error.status);
    if (!isRefused) throw error;
    const message = `This cluster refused the CRD ${api}: ${reasonOf(error)}`;
    log.warn("a CRD was refused", { api, error: errorChain(error) });
    recordEvent(owner as KubeObject, "Warning", "SchemaIncompatible", message);
    const problem = { reason: "SchemaIncompatible", message };
    if (!present || !isPulled(present)) return problem;
    const old = await usePresent(consumer, present, crd, signal);
    return "reason" in old ? problem : { ...old, problem };
  }
}

/** Uses a CRD that is not brought up to date. */
async function usePresent(
  consumer: KubeClient,
  { metadata: { name, annotations } }: MetadataObject,
  crd: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<Problem | InstalledCrd> {
  const type = commonType(await consumer.get(CRDS, { name }, signal), crd);
  if (type) return { type, hash: annotations?.[ANNOTATIONS.schemaHash] ?? "" };
  const message = `The provider serves no version of ${name} that this cluster has`;
  return { reason: "Rejected", message };
}

/** Asks the provider where the credential may list the API: everywhere, or in its boundary. */
async function reachOf(
  { kube, boundary }: ProviderLink,
  { group, plural, namespaced }: BoundType,
  signal: AbortSignal,
): Promise<Reach> {
  const mayList = async (namespace?: string): Promise<boolean> => {
    const attributes = { verb: "list", group, resource: plural, ...(namespace && { namespace }) };
    const { status } = await kube.request<{ status?: { allowed?: boolean } }>(
      "POST",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: attributes },
      },
      signal,
    );
    return status?.allowed === true;
  };
  if (await mayList()) return { kind: "all" };
  if (namespaced && boundary && await mayList(boundary)) {
    return { kind: "one", namespace: boundary };
  }
  return { kind: "none" };
}

/** Starts the sync, or tells a running one that its coverage changed. */
function sync(
  deps: ApiDeps,
  api: string,
  coverage: ApiCoverage,
  link: ProviderLink,
  { type, hash, problem = { reason: "AsExpected", message: "" } }: InstalledCrd,
  reach: Reach,
): void {
  const { apis, consumer, clusterUid, recordEvent, log, metrics, reportsOf } = deps;
  const state: ApiState = { coverage, ...problem, crdHash: hash, reach };
  const identity = JSON.stringify([link.name, link.fingerprint, type, reach]);
  if (apis.adapt(api, identity, state)) return;
  const apiLog = log.with({ api });
  const started = new ApiSync({
    type,
    connection: link.name,
    clusterUid,
    consumer,
    provider: link.kube,
    comparesVersions: () => link.comparesVersions,
    namespace: reach.kind === "one" ? reach.namespace : undefined,
    coverageOf: (namespace) => withinReach(apis.get(api), namespace),
    recordEvent,
    log: apiLog,
    metrics,
    reports: (side) => {
      const reports = reportsOf(`${api} on the ${side}`);
      if (side === "consumer") return reports;
      // A right to watch that is withdrawn shows when the watch is opened again.
      const disconnected = (error: unknown) => {
        reports.disconnected?.(error);
        if (isForbidden(error) || isCredentialRefused(error)) denied(deps, api, link, error);
      };
      return { ...reports, disconnected };
    },
    onSynced: (direction, ms) => deps.onSynced(api, direction, ms),
    onDenied: (error) => denied(deps, api, link, error),
    onProgress: () => apis.progressed(api),
  });
  apis.start(api, identity, state, started, link.signal);
}

const NOT_COVERED: NamespaceCoverage = { coverage: "none", conflictPolicy: "Fail" };

/** Restricts what the bindings want to the namespaces that the credential reaches. */
function withinReach(state: ApiState | undefined, namespace: string): NamespaceCoverage {
  if (!state) return NOT_COVERED;
  const wish = state.coverage.of(namespace);
  const { reach } = state;
  const isReached = reach?.kind === "all" || reach?.kind === "one" && reach.namespace === namespace;
  return isReached || wish.coverage === "none" ? wish : { ...wish, coverage: "outOfReach" };
}

/** A right was withdrawn, or the credential: the API pauses until it is given back. */
function denied({ apis, log }: ApiDeps, api: string, link: ProviderLink, error: unknown): void {
  if (refusalOf(error) === "unauthorized") return link.reject(error);
  const state = apis.get(api);
  if (!state || state.isDenied) return;
  log.warn("the provider refuses a right", { api, reason: reasonOf(error) });
  apis.pause(api, { ...state, reason: "Forbidden", message: reasonOf(error), isDenied: true });
  apis.lookLater(api, deniedRetryMs());
}

import { type Conditioned, CONNECTIONS, NAMESPACES } from "../../common/api/resources.ts";
import { konnectorManifest } from "../../common/consumer/konnector_manifest.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import { KONNECTOR_IMAGE } from "../../common/api/names.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { age } from "../terminal/age.ts";
import type { Io } from "../terminal/io.ts";
import { bundleNamed } from "../consumer/check_bundle.ts";
import { imageOf } from "../consumer/check_manifest.ts";
import { type Check, checkClock, checked, checkedAll, failed, ok, skipped } from "./checks.ts";
import { conditionChecks, CONDITIONED, objectChecks } from "./condition_checks.ts";
import type { Consumer } from "../consumer/connect_consumer.ts";
import { clusterText, consumerFailure } from "../consumer/consumer_failure.ts";
import { installedKonnector } from "../consumer/konnector_plan.ts";
import { missingRights, rightsToApply } from "../consumer/rights.ts";
import { isAvailable, stateText } from "../consumer/until_ready.ts";
import { SEE_KONNECTOR } from "./remedies.ts";

/**
 * Checks the consumer cluster: clock, rights, konnector and conditions. `isHeard` says whether the
 * provider gets heartbeats from this cluster.
 */
export async function* consumerChecks(
  io: Io,
  consumer: Consumer,
  isHeard: boolean,
): AsyncGenerator<Check> {
  const { target, version } = consumer;
  yield ok("consumer", `${clusterText(target)} runs Kubernetes ${version}`);
  yield checkClock("consumer clock", await consumerClock(io, consumer));
  yield await told("rights", consumer, () => checkRights(io, consumer));
  yield await told("konnector", consumer, () => checkKonnector(io, consumer, isHeard));
  for (const type of CONDITIONED) {
    yield* await toldAll(type.plural, consumer, () => conditionChecks(io, consumer, type));
  }
  yield* await toldAll("objects", consumer, () => objectChecks(io, consumer));
}

/** Reports a call that the cluster refuses as a failed check. */
const told = (name: string, { target }: Consumer, look: () => Promise<Check>): Promise<Check> =>
  checked(name, () => look().catch((error) => Promise.reject(consumerFailure(error, target))));

const toldAll = (name: string, { target }: Consumer, look: () => Promise<Check[]>) =>
  checkedAll(name, () => look().catch((error) => Promise.reject(consumerFailure(error, target))));

async function consumerClock({ signal }: Io, { kube }: Consumer) {
  const request = { method: "GET", path: "/version", attempt: "Cannot read the time" };
  try {
    const { header } = await kube.transport.send({ ...request, timeoutMs: 15_000, signal });
    const server = new Date(header("date") ?? "");
    return Number.isNaN(server.getTime()) ? undefined : { server, ours: new Date() };
  } catch {
    signal.throwIfAborted();
    return undefined; // the next check reports a lost connection
  }
}

async function checkRights({ signal }: Io, { kube }: Consumer): Promise<Check> {
  const objects = [...konnectorManifest(KONNECTOR_IMAGE), ...bundleNamed("")];
  const missing = await missingRights(kube, rightsToApply(objects), signal);
  if (missing.length === 0) return ok("rights", "you may install the konnector and bind Exports");
  const remedy = "Ask an administrator of that cluster for these rights";
  return failed("rights", `you may not ${missing.join(", ")}`, remedy);
}

async function checkKonnector(
  { signal }: Io,
  { kube }: Consumer,
  isHeard: boolean,
): Promise<Check> {
  const deployment = await installedKonnector(kube, signal);
  const image = deployment && (imageOf(deployment) ?? "unknown");
  if (deployment && isAvailable(deployment, deployment.metadata.generation ?? 0)) {
    return ok("konnector", `it runs, image ${image}`);
  }
  // A konnector may also run as a process outside the cluster. Only it can send heartbeats.
  if (isHeard) return ok("konnector", "it runs, but not as a pod of this cluster");
  if (!deployment) return failed("konnector", "it is not installed", "Run: kubectl bind connect");
  const state = stateText({ ...deployment, kind: "Deployment" }, deployment as Conditioned);
  return failed(
    "konnector",
    `it does not run, image ${image}: ${state}`,
    "Run: kubectl -n xbind describe pods -l app.kubernetes.io/name=konnector",
  );
}

const HEARTBEAT = "heartbeat";

/** Checks that the provider gets heartbeats from this cluster for every Connection. */
export const checkHeartbeat = (
  io: Pick<Io, "signal" | "now">,
  gateway: GatewayClient,
  consumer: Consumer,
): Promise<Check> =>
  checked(HEARTBEAT, async () => {
    const connections = await connectionsOf(io, consumer);
    const { clusters, pending = [] } = await gateway.clusters(io.signal);
    const granted = clusters.flatMap(({ bindings }) => bindings.map(({ grant }) => grant));
    const known = new Set([...granted, ...pending.map(({ grant }) => grant)]);
    const ours = connections.filter(({ name }) => known.has(name));
    if (ours.length === 0) {
      return skipped(HEARTBEAT, "no Connection on this cluster belongs to this gateway");
    }
    const silent = ours.flatMap(({ name, clusterUid }) => {
      const cluster = clusters.find(({ uid }) => uid === clusterUid);
      const heard = cluster?.bindings.find(({ grant }) => grant === name);
      if (!heard) return [`the provider never got a heartbeat of ${name} from this cluster`];
      if (heard.live) return [];
      return [`the last heartbeat of ${name} was ${age(heard.lastHeartbeat, io.now())} ago`];
    });
    if (silent.length > 0) return failed(HEARTBEAT, silent.join("; "), SEE_KONNECTOR);
    return `the provider gets heartbeats of ${ours.map(({ name }) => name).join(", ")}`;
  });

interface OwnConnection {
  readonly name: string;
  /** The identity of this cluster in heartbeats of the Connection. */
  readonly clusterUid: string | undefined;
}

/** Lists the Connections. Without an identity from the konnector, assumes that of most clusters. */
async function connectionsOf(
  { signal }: Pick<Io, "signal">,
  { kube, target }: Consumer,
): Promise<OwnConnection[]> {
  try {
    const connections = await kube.list(CONNECTIONS, {}, signal).catch((error) => {
      if (isNotFound(error)) return []; // the konnector is not installed
      throw error;
    });
    const isKnown = connections.every(({ status }) => status?.localClusterUID);
    const kubeSystem = isKnown
      ? undefined
      : await kube.find(NAMESPACES, { name: "kube-system" }, signal);
    return connections.map(({ metadata: { name }, status }) => ({
      name,
      clusterUid: status?.localClusterUID || kubeSystem?.metadata.uid,
    }));
  } catch (error) {
    throw consumerFailure(error, target);
  }
}

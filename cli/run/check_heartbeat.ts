import { CONNECTIONS, NAMESPACES } from "../../common/api/resources.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import { age } from "../terminal/age.ts";
import type { GatewayClient } from "../gateway/client.ts";
import type { Io } from "../terminal/io.ts";
import { type Check, checked, failed, skipped } from "./checks.ts";
import type { Consumer } from "../consumer/connect_consumer.ts";
import { consumerFailure } from "../consumer/consumer_failure.ts";

const CHECK = "heartbeat";
const REMEDY = "See that the konnector runs and reaches the provider: " +
  "kubectl -n xbind logs deployment/konnector";

/** Checks that the provider hears from this cluster for every Connection to it. */
export const checkHeartbeat = (
  io: Pick<Io, "signal" | "now">,
  gateway: GatewayClient,
  consumer: Consumer,
): Promise<Check> =>
  checked(CHECK, async () => {
    const { uid, connections } = await lookAtConsumer(io, consumer);
    const { clusters, pending = [] } = await gateway.clusters(io.signal);
    const granted = clusters.flatMap(({ bindings }) => bindings.map(({ grant }) => grant));
    const known = new Set([...granted, ...pending.map(({ grant }) => grant)]);
    const ours = connections.filter((name) => known.has(name));
    if (ours.length === 0) return skipped(CHECK, "no Connection here is one of this gateway");
    const bindings = clusters.find((cluster) => cluster.uid === uid)?.bindings ?? [];
    const silent = ours.flatMap((name) => {
      const heard = bindings.find(({ grant }) => grant === name);
      if (!heard) return [`the provider never heard from ${name} on this cluster`];
      if (heard.live) return [];
      return [`the provider last heard from ${name} ${age(heard.lastHeartbeat, io.now())} ago`];
    });
    if (silent.length > 0) return failed(CHECK, silent.join("; "), REMEDY);
    return `the provider hears from ${ours.join(", ")}`;
  });

async function lookAtConsumer({ signal }: Pick<Io, "signal">, { kube, target }: Consumer) {
  try {
    const { metadata: { uid } } = await kube.get(NAMESPACES, { name: "kube-system" }, signal);
    const connections = await kube.list(CONNECTIONS, {}, signal).catch((error) => {
      if (isNotFound(error)) return []; // the konnector is not installed
      throw error;
    });
    return { uid, connections: connections.map(({ metadata: { name } }) => name) };
  } catch (error) {
    throw consumerFailure(error, target);
  }
}

import { ANNOTATIONS, FIELD_MANAGERS, heartbeatLeaseName, LABELS } from "../../common/api/names.ts";
import { type Lease, LEASES } from "../../common/api/resources.ts";
import { microTime } from "../../common/api/times.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isForbidden, isNotFound } from "../../common/kube/kube_error.ts";
import { keyOf, type ObjectKey } from "../../common/kube/paths.ts";
import type { Log } from "../../common/log/log.ts";
import type { Runnable } from "../../common/time/runnable.ts";
import { sleep } from "../../common/time/wait.ts";
import { errorChain } from "../../common/errors.ts";
import { VERSION } from "../../common/version.ts";
import { deniedRetryMs } from "../denied_retry.ts";
import type { ProviderClock } from "./provider_clock.ts";

/** Whose heartbeat it is, and where it goes. */
export interface Heartbeat {
  readonly connection: string;
  readonly clusterUid: string;
  /** The boundary namespace on the provider. */
  readonly namespace: string;
  /** Returns what else the Lease says about the cluster. */
  readonly describe: () => Readonly<Record<string, string>>;
}

const LEASE_SECONDS = 60;
const SHORTEST_MS = 25_000;
const JITTER_MS = 5_000;
const RETRY_MS = 5_000;

/** Returns the key of the heartbeat Lease on the provider. */
export const leaseKey = ({ connection, clusterUid, namespace }: Heartbeat): ObjectKey => ({
  namespace,
  name: heartbeatLeaseName(connection, clusterUid),
});

/** Builds the heartbeat Lease. */
export function leaseFor(heartbeat: Heartbeat, now: Date): Lease {
  const { connection, clusterUid, namespace, describe } = heartbeat;
  const time = microTime(now);
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      namespace,
      name: heartbeatLeaseName(connection, clusterUid),
      labels: { [LABELS.managed]: "true" },
      annotations: {
        [ANNOTATIONS.consumerClusterUid]: clusterUid,
        [ANNOTATIONS.connection]: connection,
        [ANNOTATIONS.konnectorVersion]: VERSION,
        ...describe(),
      },
    },
    spec: {
      holderIdentity: clusterUid,
      leaseDurationSeconds: LEASE_SECONDS,
      acquireTime: time,
      renewTime: time,
    },
  };
}

/** How a heartbeat is sent, and who is told. */
export interface BeatOptions {
  readonly kube: KubeClient;
  readonly heartbeat: Heartbeat;
  /** The provider judges a heartbeat by its own time. */
  readonly clock: Pick<ProviderClock, "now">;
  readonly log: Log;
  /** Called after each heartbeat that arrived. It must not fail. */
  readonly arrived: (signal: AbortSignal) => Promise<void>;
  /** Called after each one that failed. */
  readonly failed: (error: unknown) => void;
}

/** Renews the heartbeat about every 30 s until the signal aborts. */
export const beat =
  ({ kube, heartbeat, clock, log, arrived, failed }: BeatOptions): Runnable => async (signal) => {
    let isFailing = false;
    while (!signal.aborted) {
      try {
        await renew(kube, leaseFor(heartbeat, clock.now()), signal);
        await arrived(signal);
        if (isFailing) log.info("the heartbeat arrives again");
        isFailing = false;
        await sleep(SHORTEST_MS + Math.random() * JITTER_MS, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!isFailing) log.warn("cannot send the heartbeat", { error: errorChain(error) });
        isFailing = true;
        failed(error);
        const waitMs = isForbidden(error) ? deniedRetryMs() : RETRY_MS;
        await sleep(waitMs, signal).catch(() => {});
      }
    }
  };

/** Renews the Lease, or creates it if it is missing. */
async function renew(kube: KubeClient, lease: Lease, signal: AbortSignal): Promise<void> {
  const manager = FIELD_MANAGERS.konnector;
  const { labels, annotations } = lease.metadata;
  const { acquireTime: _, ...spec } = lease.spec ?? {};
  const change = { metadata: { labels, annotations }, spec };
  try {
    await kube.patchFields(LEASES, keyOf(lease), change, manager, signal);
    return;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  // Never create the namespace: if the boundary is gone, so is the Grant.
  await kube.create(LEASES, lease, manager, signal);
}

/** Takes the heartbeat away, so that the provider sees at once that the cluster is unbound. */
export async function stopBeating(
  kube: KubeClient,
  heartbeat: Heartbeat,
  signal: AbortSignal,
): Promise<void> {
  try {
    await kube.delete(LEASES, leaseKey(heartbeat), {}, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

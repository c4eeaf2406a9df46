import type { Log } from "../log/log.ts";
import { LEASES } from "../api/resources.ts";
import { VERSION } from "../version.ts";
import { KubeClient } from "./client.ts";
import type { KubeTarget } from "./kube_target.ts";
import { alwaysLeading, Leader, type Leadership } from "./leader.ts";
import { leaseNamespace } from "./load_target.ts";
import { Transport } from "./transport.ts";

/** How a program takes part in an election. */
export interface ElectionOptions {
  /** The program, as API servers see it in `User-Agent`. */
  readonly agent: string;
  readonly config: { readonly leaderElect: boolean; readonly leaderElectionId: string };
  /** The cluster with the Lease. */
  readonly target: KubeTarget;
  /** Host name and a random suffix: unique to this process. */
  readonly identity: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Shows whether this process leads in the election of that name. */
  readonly metrics: { leaderElection(name: string): (isLeading: boolean) => void };
}

/** Returns the holder of an election's Lease, if renewed in time; undefined if nobody leads. */
export async function leaderOf(
  kube: KubeClient,
  { config, target, env }: Pick<ElectionOptions, "config" | "target" | "env">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const namespace = await leaseNamespace(env, target);
  const lease = await kube.find(LEASES, { namespace, name: config.leaderElectionId }, signal);
  const { holderIdentity, renewTime = "", leaseDurationSeconds = 0 } = lease?.spec ?? {};
  const isFresh = Date.now() - Date.parse(renewTime) < leaseDurationSeconds * 1_000;
  return isFresh && holderIdentity ? holderIdentity : undefined;
}

/** Decides who leads: this process without an election, else the holder of the Lease. */
export async function leadershipFor(options: ElectionOptions): Promise<Leadership> {
  const { agent, config, target, identity, env, log, metrics } = options;
  if (!config.leaderElect) return alwaysLeading;
  // It has its own connections, so that renewals never wait behind the controllers' calls.
  const own = new Transport(target, { userAgent: `${agent}/${VERSION}` });
  return new Leader({
    kube: new KubeClient(own),
    name: config.leaderElectionId,
    namespace: await leaseNamespace(env, target),
    identity,
    log: log.named("leader"),
    onChange: metrics.leaderElection(config.leaderElectionId),
  });
}

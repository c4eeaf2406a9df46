import type { Grant } from "../api/resources.ts";
import type { Config } from "../config.ts";
import {
  boundaryOf,
  connectionKey,
  type Heartbeat,
  type HeartbeatIndex,
} from "../inventory/heartbeats.ts";
import type { Cache } from "../kube/cache.ts";
import type { LeaseWatch, Moment } from "./lease_watch.ts";
import {
  concerns,
  isMoving,
  judge,
  mayRevoke,
  type Revocability,
  type Verdict,
} from "./staleness.ts";

/** What the reaper reads of a cache; whether it may trust it included. */
type View<T extends Grant | Heartbeat> = Pick<
  Cache<T>,
  "get" | "values" | "hasSynced" | "brokenForMs"
>;

/** What an examination rests on. */
export interface ExamineDeps {
  readonly caches: {
    readonly grants: View<Grant>;
    readonly heartbeats:
      & View<Heartbeat>
      & Pick<Cache<Heartbeat, HeartbeatIndex>, "find" | "crowded" | "version">;
  };
  readonly leaseWatch: Pick<LeaseWatch, "observation">;
  readonly config: Pick<Config, "reaperTtlMs">;
}

/** A verdict, and for a stale Grant whether it may be revoked. */
export type Finding =
  | Exclude<Verdict, { kind: "stale" }>
  | Extract<Verdict, { kind: "stale" }> & {
    readonly revocability: Revocability;
    /** Its Leases change although their times are old. */
    readonly isMoving: boolean;
  };

/** Judges a Grant, cached or read just now, by the Leases that are known. */
export function examine(
  { caches: { grants, heartbeats }, leaseWatch, config: { reaperTtlMs } }: ExamineDeps,
  grant: Grant,
  now: Moment,
): Finding {
  const { name } = grant.metadata;
  const boundary = boundaryOf(grant);
  const isGrant = (other: string) => grants.get({ name: other }) !== undefined;
  const evidence = {
    own: heartbeats.find("connection", connectionKey(boundary, name)),
    inBoundary: heartbeats.find("namespace", boundary),
    isGrant,
  };
  const verdict = judge(grant, evidence, reaperTtlMs, now.wallMs);
  if (verdict.kind !== "stale") return verdict;
  const seen = leaseWatch.observation(
    boundary,
    (connection) => concerns(grant, connection, isGrant),
  );
  return {
    ...verdict,
    revocability: mayRevoke(grant, seen, reaperTtlMs, now),
    isMoving: isMoving(seen, reaperTtlMs, now),
  };
}

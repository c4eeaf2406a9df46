import type { Grant } from "../../common/api/resources.ts";
import type { Config } from "../config.ts";
import {
  boundaryOf,
  connectionKey,
  type Heartbeat,
  type HeartbeatIndex,
} from "../provider/heartbeats.ts";
import type { Cache } from "../../common/kube/cache.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import type { GrantSign } from "./brake.ts";
import type { LeaseWatch, Moment } from "../provider/lease_watch.ts";
import {
  concerns,
  isHeardOf,
  isMoving,
  judge,
  mayRevoke,
  newestSign,
  type Revocability,
  signsOf,
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
    readonly heartbeats: View<Heartbeat> & Pick<Cache<Heartbeat, HeartbeatIndex>, "find">;
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

/** What there is to know of a Grant. */
export interface Examined {
  readonly grant: Grant;
  readonly finding: Finding;
  /** For the brake; absent for a Grant that is not judged. */
  readonly sign?: GrantSign;
}

/** Whether an operator said that the Grant may be reaped. */
export const isApproved = ({ metadata }: Pick<Grant, "metadata">): boolean =>
  metadata.annotations?.[ANNOTATIONS.reap] === "approved";

/** Judges a Grant, cached or read just now, by the Leases that are known. */
export function examine(
  { caches: { grants, heartbeats }, leaseWatch, config: { reaperTtlMs } }: ExamineDeps,
  grant: Grant,
  now: Moment,
): Examined {
  const { name } = grant.metadata;
  const boundary = boundaryOf(grant);
  const isGrant = (other: string) => grants.get({ name: other }) !== undefined;
  const evidence = {
    own: heartbeats.find("connection", connectionKey(boundary, name)),
    inBoundary: heartbeats.find("namespace", boundary),
    isGrant,
  };
  const signs = signsOf(grant, evidence, now.wallMs);
  const verdict = judge(signs, reaperTtlMs, now.wallMs);
  const newest = newestSign(signs);
  if (verdict.kind === "unjudged" || !newest) return { grant, finding: { kind: "unjudged" } };
  const sign = { lastSignMs: newest.atMs, isApproved: isApproved(grant) };
  if (verdict.kind === "fresh" && isHeardOf(newest, reaperTtlMs, now.wallMs)) {
    return { grant, finding: verdict, sign: { ...sign, isLive: true } };
  }
  const seen = leaseWatch.observation(
    boundary,
    (connection) => concerns(grant, connection, isGrant),
  );
  const finding = verdict.kind === "fresh" ? verdict : {
    ...verdict,
    revocability: mayRevoke(grant, seen, reaperTtlMs, now),
    isMoving: isMoving(seen, reaperTtlMs, now),
  };
  // Whoever renews is there, however wrong its clock is.
  const renewal = seen.lastChange && { ...newest, atMs: seen.lastChange.steadyMs };
  const isLive = renewal !== undefined && isHeardOf(renewal, reaperTtlMs, now.steadyMs);
  return { grant, finding, sign: { ...sign, isLive } };
}

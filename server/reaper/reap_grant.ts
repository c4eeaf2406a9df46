import { LABELS } from "../../common/api/names.ts";
import { type Grant, GRANTS, LEASES, type ObjectMeta } from "../../common/api/resources.ts";
import { rfc3339 } from "../../common/api/times.ts";
import { type Cache, isLater } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isConflict, isNotFound } from "../../common/kube/kube_error.ts";
import { METADATA_LIST } from "../../common/kube/metadata.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { auditLine } from "../../common/log/audit_line.ts";
import type { Log } from "../../common/log/log.ts";
import type { Config } from "../config.ts";
import { boundaryOf, type Heartbeat } from "../provider/heartbeats.ts";
import type { Moment } from "../provider/lease_watch.ts";
import type { Boundaries } from "./boundaries.ts";
import { showsStale } from "./stale_condition.ts";
import { examine, type Examined, type ExamineDeps, isApproved } from "./staleness.ts";

/** What a sweep does with the Grants that it examined. */
export interface ReapPlan {
  /** To reap now, the longest silent first. */
  readonly reap: readonly Examined[];
  /** All others. Their conditions are brought up to date. */
  readonly keep: readonly Examined[];
  /** How many of `keep` are due but held back by the hold. */
  readonly held: number;
  /** How many of `keep` are due but exceed what one sweep may reap. */
  readonly waiting: number;
}

/** Picks the Grants to reap: at most `most`, and during a hold only those with approval. */
export function planReaps(
  examined: readonly Examined[],
  { isHolding, most }: { readonly isHolding: boolean; readonly most: number },
): ReapPlan {
  const keep: Examined[] = [];
  const due: Examined[] = [];
  let held = 0;
  for (const each of examined) {
    if (!isDue(each)) keep.push(each);
    else if (!isHolding || each.sign?.isApproved) due.push(each);
    else {
      keep.push(each);
      held++;
    }
  }
  due.sort((a, b) => lastSignMs(a) - lastSignMs(b));
  const waiting = due.slice(most);
  return {
    reap: due.slice(0, most),
    keep: [...keep, ...waiting],
    held,
    waiting: waiting.length,
  };
}

const lastSignMs = ({ sign }: Examined): number => sign?.lastSignMs ?? Infinity;

/** Returns whether a Grant is stale and its own guards allow to reap it. */
export const isReapable = ({ staleness }: Pick<Examined, "staleness">): boolean =>
  staleness.kind === "stale" && staleness.mayReap;

/** An earlier sweep must have set the condition, so that everyone can see it before the end. */
const isDue = (examined: Examined): boolean => isReapable(examined) && showsStale(examined.grant);

/** What `reapGrant` works with. */
export interface ReapDeps extends ExamineDeps {
  /** Guarded: it refuses writes once another replica may lead. */
  readonly kube: KubeClient;
  readonly caches: ExamineDeps["caches"] & {
    readonly heartbeats: Pick<Cache<Heartbeat>, "crowded" | "version">;
  };
  readonly config: ExamineDeps["config"] & Pick<Config, "reaperDeleteBoundary">;
  readonly boundaries: Pick<Boundaries, "mark">;
  readonly now: () => Moment;
  readonly log: Log;
}

/**
 * Deletes a Grant if live reads confirm that it is due; the issuer's finalizer then revokes it.
 * During a hold the live Grant must also have an approval. Returns false if the Grant was spared.
 */
export async function reapGrant(
  deps: ReapDeps,
  grant: Grant,
  { isHolding }: { readonly isHolding: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  const { kube, config, boundaries, now, log } = deps;
  const key = keyOf(grant);
  const live = await kube.find(GRANTS, key, signal);
  if (!live || live.metadata.uid !== grant.metadata.uid) return false;
  if (isHolding && !isApproved(live)) return false;
  const examined = examine(deps, live, now());
  const { staleness } = examined;
  if (staleness.kind !== "stale" || !isDue(examined)) return false;
  if (!await areCachedLeasesCurrent(deps, live, signal)) return false;
  const { uid = "", resourceVersion = "" } = live.metadata;
  try {
    if (config.reaperDeleteBoundary) await boundaries.mark(live, signal);
    await kube.delete(GRANTS, key, { uid, resourceVersion }, signal);
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false; // a bind in between wins
    throw error;
  }
  // The issuer publishes the Event `Revoked` once everything is gone.
  const line = auditLine("grant.reaped", staleness.reason, {
    grant: key.name,
    subject: live.spec.identity.subject,
    export: live.spec.exportName,
    since: rfc3339(staleness.sinceMs),
  });
  log.info("grant reaped", line);
  return true;
}

/** Lists the Leases of the Grant's boundary. Returns whether the cache has the same versions. */
async function areCachedLeasesCurrent(
  { kube, caches: { heartbeats } }: ReapDeps,
  grant: Grant,
  signal: AbortSignal,
): Promise<boolean> {
  const namespace = boundaryOf(grant);
  const selection = { namespace, labelSelector: `${LABELS.managed}=true` };
  const cached = new Set<string | undefined>();
  for (const { metadata } of heartbeats.find("namespace", namespace)) {
    cached.add(metadata.resourceVersion);
  }
  const total = heartbeats.crowded.find((each) => each.namespace === namespace)?.total ??
    cached.size;
  // The cache keeps only the newest Leases of a crowded boundary. The others must not have changed
  // since the version up to which the watch has come.
  const isKnown = (version = "") =>
    cached.has(version) || cached.size < total && !isLater(version, heartbeats.version);
  let live = 0;
  let next = "";
  do {
    const page = await kube.listPage(LEASES, selection, { next, signal, accept: METADATA_LIST });
    live += page.items.length;
    const items = page.items as readonly { metadata: ObjectMeta }[];
    if (!items.every(({ metadata }) => isKnown(metadata.resourceVersion))) return false;
    next = page.continue;
  } while (next !== "");
  return live === total;
}

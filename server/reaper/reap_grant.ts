import { type Grant, GRANTS, LEASES, type ObjectMeta } from "../../common/api/resources.ts";
import type { Config } from "../config.ts";
import type { Heartbeat } from "../provider/heartbeats.ts";
import { type Cache, isLater } from "../../common/kube/cache.ts";
import { isConflict, isNotFound } from "../../common/kube/kube_error.ts";
import { METADATA_LIST } from "../../common/kube/metadata.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { boundaryName, LABELS } from "../../common/api/names.ts";
import { auditLine } from "../../common/log/audit_line.ts";
import type { Boundaries } from "./boundaries.ts";
import { examine, type ExamineDeps, type Finding, isApproved } from "./examine.ts";
import type { Moment } from "../provider/lease_watch.ts";
import type { RecordDeps } from "./record_finding.ts";
import { isMarkedStale, rfc3339 } from "./stale_condition.ts";

/** What a Grant is revoked with. */
export interface ReapDeps extends Omit<ExamineDeps, "config">, Omit<RecordDeps, "config"> {
  readonly caches: ExamineDeps["caches"] & {
    readonly heartbeats: Pick<Cache<Heartbeat>, "crowded" | "version">;
  };
  readonly config: ExamineDeps["config"] & Pick<Config, "reaperDeleteBoundary">;
  readonly boundaries: Pick<Boundaries, "mark">;
  readonly now: () => Moment;
}

/** Whether no guard of the Grant itself forbids to revoke it. */
export const isRevocable = (finding: Finding): boolean =>
  finding.kind === "stale" && finding.revocability.isAllowed;

/**
 * Whether a finding is enough to revoke: an earlier sweep must have marked the Grant, so that
 * nobody loses credentials without having been shown as stale first.
 */
export const isDoomed = (grant: Grant, finding: Finding): boolean =>
  isRevocable(finding) && isMarkedStale(grant);

/**
 * Deletes a stale Grant if live reads agree, and the approval too while the reaper holds; the
 * issuer's finalizer revokes. False when it was spared because something moved in the meantime.
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
  const { finding } = examine(deps, live, now());
  if (finding.kind !== "stale" || !isDoomed(live, finding)) return false;
  if (!await knowsLeasesOf(deps, live, signal)) return false;
  const { uid = "", resourceVersion = "" } = live.metadata;
  try {
    if (config.reaperDeleteBoundary) await boundaries.mark(live, signal);
    await kube.delete(GRANTS, key, { uid, resourceVersion }, signal);
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false; // a bind in between wins
    throw error;
  }
  // The Event `Revoked` is the issuer's to tell, once everything is gone.
  const line = auditLine("grant.reaped", finding.reason, {
    grant: key.name,
    subject: live.spec.identity.subject,
    export: live.spec.exportName,
    since: rfc3339(finding.sinceMs),
  });
  log.info("grant reaped", line);
  return true;
}

/** Whether the cache knows the Leases of the Grant's boundary exactly as they are. */
async function knowsLeasesOf(
  { kube, caches: { heartbeats } }: ReapDeps,
  grant: Grant,
  signal: AbortSignal,
): Promise<boolean> {
  const namespace = boundaryName(grant.spec.identity.subject);
  const selection = { namespace, labelSelector: `${LABELS.managed}=true` };
  const held = new Set<string | undefined>();
  for (const { metadata } of heartbeats.find("namespace", namespace)) {
    held.add(metadata.resourceVersion);
  }
  const total = heartbeats.crowded.find((each) => each.namespace === namespace)?.total ?? held.size;
  // Of a crowd only the newest are held; the others must be older than what the watch has seen.
  const isKnown = (version = "") =>
    held.has(version) || held.size < total && !isLater(version, heartbeats.version);
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

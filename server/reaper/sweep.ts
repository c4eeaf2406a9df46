import { type Grant, isDeleting } from "../api/resources.ts";
import { KubeError } from "../kube/kube_error.ts";
import type { Boundaries } from "./boundaries.ts";
import { examine } from "./examine.ts";
import { type RecordDeps, recordFinding } from "./record_finding.ts";
import { isDoomed, type RevokeDeps, revokeGrant } from "./revoke_grant.ts";

/** What a sweep works with. */
export interface SweepDeps extends RevokeDeps {
  readonly config: RevokeDeps["config"] & RecordDeps["config"];
  readonly boundaries: Pick<Boundaries, "mark" | "reap">;
}

/** What a sweep found and did. */
export interface SweepCounts {
  readonly stale: number;
  /** Stale Grants that no guard protects; without `--reaper-revoke` they just stay. */
  readonly wouldRevoke: number;
  readonly revoked: number;
  readonly boundariesDeleted: number;
  /** Grants that could not be dealt with; the log says why. */
  readonly failed: number;
}

const WRITERS = 8;

/**
 * Judges every Grant once: marks the silent and clears the renewed, then revokes and deletes what
 * the flags allow. A Grant at rest costs no request. Undefined when the caches cannot be trusted.
 */
export async function sweep(
  deps: SweepDeps,
  signal: AbortSignal,
): Promise<SweepCounts | undefined> {
  const { caches: { grants, heartbeats }, config, boundaries, log } = deps;
  if (![grants, heartbeats].every(isCurrent)) {
    log.warn("skipped a sweep: the present Grants and Leases are not known");
    return undefined;
  }
  const now = deps.now();
  const counts = { stale: 0, wouldRevoke: 0, revoked: 0, boundariesDeleted: 0, failed: 0 };
  const doomed: Grant[] = [];

  const guarded = async (grant: Grant, run: () => Promise<void>) => {
    try {
      signal.throwIfAborted();
      await run();
    } catch (error) {
      signal.throwIfAborted();
      if (isUnreachable(error)) throw error; // the others would fare no better
      counts.failed++;
      log.error("cannot sweep a Grant", { grant: grant.metadata.name, error });
    }
  };

  const staying = [...grants.values()].filter((grant) => !isDeleting(grant));
  await forEach(staying, WRITERS, (grant) =>
    guarded(grant, async () => {
      const finding = examine(deps, grant, now);
      if (finding.kind === "stale") {
        counts.stale++;
        if (finding.revocability.isAllowed) counts.wouldRevoke++;
      }
      if (config.reaperRevoke && isDoomed(grant, finding)) doomed.push(grant);
      else await recordFinding(deps, grant, finding, now.wallMs, signal);
    }));

  if (!config.reaperRevoke) return counts;
  for (const grant of doomed) {
    await guarded(grant, async () => {
      if (await revokeGrant(deps, grant, signal)) counts.revoked++;
    });
  }
  if (!config.reaperDeleteBoundary) return counts;
  try {
    counts.boundariesDeleted = await boundaries.reap(signal);
  } catch (error) {
    signal.throwIfAborted();
    log.error("cannot look for boundaries to reap", { error });
  }
  return counts;
}

const isUnreachable = (error: unknown): boolean =>
  error instanceof KubeError && error.reason === "ConnectionFailed";

const isCurrent = (cache: Pick<SweepDeps["caches"]["grants"], "hasSynced" | "brokenForMs">) =>
  cache.hasSynced && cache.brokenForMs() === undefined;

/** Runs for each item, several at a time; after a failure no further item is begun. */
async function forEach<T>(
  items: readonly T[],
  width: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  let failure: { readonly error: unknown } | undefined;
  const work = async () => {
    for (const item of rest) {
      if (failure) return;
      await run(item).catch((error) => void (failure ??= { error }));
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  if (failure) throw failure.error;
}

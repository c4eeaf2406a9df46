import { ANNOTATIONS, isClusterName } from "../../common/api/names.ts";
import { parseSummary, type SyncProblem } from "../../common/api/sync_summary.ts";
import type { SyncTotals } from "../../common/api/wire.ts";

/** What a heartbeat Lease says about its cluster. A tenant wrote it: show it, never rely on it. */
export interface LeaseReport {
  readonly clusterName?: string;
  readonly konnectorVersion?: string;
  readonly sync?: SyncTotals;
  readonly problems?: readonly SyncProblem[];
}

const VERSION = /^[A-Za-z0-9][A-Za-z0-9.+-]{0,63}$/;

/** Reads the annotations of a Lease. Leaves out every part that does not have its form. */
export function readReport(
  annotations: Readonly<Record<string, unknown>>,
): LeaseReport | undefined {
  const clusterName = annotations[ANNOTATIONS.clusterName];
  const konnectorVersion = annotations[ANNOTATIONS.konnectorVersion];
  const summary = parseSummary(annotations[ANNOTATIONS.syncSummary]);
  const { problems = [], ...sync } = summary ?? {};
  const report = {
    ...(typeof clusterName === "string" && isClusterName(clusterName) ? { clusterName } : {}),
    ...(typeof konnectorVersion === "string" && VERSION.test(konnectorVersion)
      ? { konnectorVersion }
      : {}),
    ...(summary ? { sync: sync as SyncTotals } : {}),
    ...(problems.length > 0 ? { problems } : {}),
  };
  return Object.keys(report).length > 0 ? report : undefined;
}

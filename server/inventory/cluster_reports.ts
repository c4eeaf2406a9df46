import { type Grant, isDeleting } from "../../common/api/resources.ts";
import type { Problem } from "../../common/api/wire.ts";
import {
  type CountingHeartbeat,
  countingHeartbeats,
  type HeartbeatLookup,
  originKey,
  type OriginTexts,
} from "./attribution.ts";
import type { LeaveOut } from "./leave_out.ts";
import { apiNamesOf } from "./instances.ts";
import type { Texts } from "./memo.ts";
import { compare } from "../../common/api/selector.ts";

/** More rows than this of one Export are left out. */
const MOST_ROWS = 1_000;

/** What Leases tell of the clusters of their own Grants. */
export interface ClusterReports {
  readonly clusterNames: OriginTexts;
  /** Lists of `Problem` as JSON, by Export. */
  readonly problems: Texts;
  /** How many further objects are not synced, by Export. */
  readonly moreProblems: ReadonlyMap<string, number>;
}

interface Claim {
  readonly subject: string;
  readonly grant: string;
  readonly name: string | undefined;
  readonly renewTimeMs: number;
}

/**
 * Collects what konnectors told about their clusters. A Lease speaks only for the Grant in whose
 * boundary it is, for its Export and its APIs. A cluster that two identities claim has no common
 * name, but one for each Grant.
 */
export function clusterReports(
  grants: Iterable<Grant>,
  heartbeats: HeartbeatLookup,
  leaveOut: LeaveOut = () => {},
): ClusterReports {
  const claims = new Map<string, Claim[]>();
  const problems = new Map<string, Problem[]>();
  const unlisted = new Map<string, number>();
  for (const grant of grants) {
    if (isDeleting(grant)) continue;
    try {
      for (const heartbeat of countingHeartbeats(heartbeats, grant)) {
        add(claims, heartbeat.consumerUid, claimOf(grant, heartbeat));
        const { exportName } = grant.spec;
        for (const each of problemsOf(grant, heartbeat)) add(problems, exportName, each);
        const more = (unlisted.get(exportName) ?? 0) + unlistedIn(heartbeat);
        if (more > 0) unlisted.set(exportName, Math.min(more, Number.MAX_SAFE_INTEGER));
      }
    } catch (error) {
      leaveOut(grant, error);
    }
  }
  for (const [name, { length }] of problems) {
    const more = (unlisted.get(name) ?? 0) + Math.max(length - MOST_ROWS, 0);
    if (more > 0) unlisted.set(name, more);
  }
  return {
    clusterNames: new Map([...claims].flatMap(([uid, each]) => namesOf(uid, each))),
    problems: new Map([...problems].map(([name, rows]) => [name, problemsJson(rows)])),
    moreProblems: unlisted,
  };
}

const claimOf = (
  { metadata, spec }: Grant,
  { renewTimeMs, report }: CountingHeartbeat,
): Claim => ({
  subject: spec.identity.subject,
  grant: metadata.name,
  name: report?.clusterName,
  renewTimeMs,
});

/** The newest name counts, so that a cluster can be renamed. */
function namesOf(uid: string, claims: readonly Claim[]): [string, string][] {
  const isShared = claims.some(({ subject }) => subject !== claims[0]?.subject);
  const oldestFirst = claims.toSorted((a, b) =>
    a.renewTimeMs - b.renewTimeMs || compare(a.grant, b.grant)
  );
  return oldestFirst.flatMap(({ grant, name }) =>
    name === undefined ? [] : [[originKey(uid, isShared ? grant : ""), name]]
  );
}

function problemsOf(grant: Grant, { consumerUid, report }: CountingHeartbeat): Problem[] {
  const { clusterName, problems = [] } = report ?? {};
  if (problems.length === 0) return [];
  const apis = new Set(apiNamesOf(grant));
  const { displayName } = grant.spec.identity;
  return problems.filter(({ api }) => apis.has(api)).map((problem) => ({
    ...problem,
    clusterUID: consumerUid,
    ...(clusterName === undefined ? {} : { clusterName }),
    ...(typeof displayName === "string" && displayName ? { identity: displayName } : {}),
  }));
}

/** Counts the objects that a konnector did not list among its problems. */
function unlistedIn({ report }: CountingHeartbeat): number {
  const { sync: { conflicts = 0, rejected = 0 } = {}, problems = [] } = report ?? {};
  return Math.max(conflicts + rejected - problems.length, 0);
}

function problemsJson(rows: Problem[]): string {
  const key = ({ api, namespace = "", name, clusterUID }: Problem) =>
    `${api} ${namespace} ${name} ${clusterUID}`;
  return JSON.stringify(rows.sort((a, b) => compare(key(a), key(b))).slice(0, MOST_ROWS));
}

function add<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

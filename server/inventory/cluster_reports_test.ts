import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import { boundaryName } from "../../common/api/names.ts";
import type { Grant } from "../../common/api/resources.ts";
import type { SyncProblem } from "../../common/api/sync_summary.ts";
import type { Problem } from "../../common/api/wire.ts";
import { connectionKey, type Heartbeat } from "../provider/heartbeats.ts";
import type { LeaseReport } from "../provider/lease_report.ts";
import { type HeartbeatLookup, textOfOrigin } from "./attribution.ts";
import { clusterReports } from "./cluster_reports.ts";

const grant = (name: string, subject: string): Grant => ({
  apiVersion: IAM_API_VERSION,
  kind: "Grant",
  metadata: { name },
  spec: {
    identity: { subject, displayName: `${subject}@example.org` },
    exportName: name.split("-")[0] ?? "",
    apis: [{ name: "a.example.org" }],
  },
});

const beat = (of: Grant, consumerUid: string, report: LeaseReport, renewTimeMs = 1): Heartbeat => ({
  metadata: { name: "lease", namespace: boundaryName(of.spec.identity.subject) },
  connection: of.metadata.name,
  consumerUid,
  renewTimeMs,
  durationMs: 60_000,
  seenMs: renewTimeMs,
  report,
});

const lookup = (beats: readonly Heartbeat[]): HeartbeatLookup => ({
  find: (_, value) =>
    beats.filter(({ metadata, connection = "" }) =>
      connectionKey(metadata.namespace ?? "", connection) === value
    ),
});

const problem = (name: string, api = "a.example.org"): SyncProblem => ({
  api,
  name,
  reason: "Rejected",
  message: "no",
});

const [pg, mq, theirs] = [grant("pg-1", "ada"), grant("mq-1", "ada"), grant("pg-2", "eve")];

Deno.test("clusterReports() takes the newest name of a cluster", () => {
  const beats = [
    beat(pg, "u", { clusterName: "old" }, 1),
    beat(mq, "u", { clusterName: "new" }, 2),
  ];
  for (const each of [beats, beats.toReversed()]) {
    const { clusterNames } = clusterReports([pg, mq], lookup(each));
    assert.equal(textOfOrigin(clusterNames, "u", undefined), "new");
  }
});

Deno.test("clusterReports() lets nobody name the cluster of another", () => {
  const beats = [
    beat(pg, "u", { clusterName: "prod" }),
    beat(theirs, "u", { clusterName: "fake" }, 9),
  ];
  const { clusterNames } = clusterReports([pg, theirs], lookup(beats));
  assert.equal(textOfOrigin(clusterNames, "u", undefined), undefined);
  assert.equal(textOfOrigin(clusterNames, "u", "pg-1"), "prod");
  assert.equal(textOfOrigin(clusterNames, "u", "pg-2"), "fake");
});

Deno.test("clusterReports() shows a problem with the Grant's Export, API and identity only", () => {
  const beats = [
    beat(pg, "u", { clusterName: "prod", problems: [problem("b"), problem("x", "z.example.org")] }),
    beat(mq, "u", {}),
    beat(theirs, "v", { problems: [problem("a")] }),
  ];
  const { problems } = clusterReports([pg, mq, theirs], lookup(beats));
  assert.deepEqual([...problems.keys()], ["pg"]);
  const expected: Problem[] = [
    { ...problem("a"), clusterUID: "v", identity: "eve@example.org" },
    { ...problem("b"), clusterUID: "u", clusterName: "prod", identity: "ada@example.org" },
  ];
  assert.deepEqual(JSON.parse(problems.get("pg") ?? ""), expected);
});

Deno.test("clusterReports() bounds the problems of an Export, and skips a broken Grant", () => {
  const many = Array.from({ length: 20 }, (_, i) => problem(`n${i}`));
  const beats = Array.from({ length: 60 }, (_, i) => beat(pg, `u${i}`, { problems: many }));
  const broken = { ...grant("bad-1", "ada"), spec: null } as unknown as Grant;
  const leftOut: string[] = [];
  const { problems, moreProblems } = clusterReports(
    [broken, pg],
    lookup(beats),
    ({ metadata }) => leftOut.push(metadata.name),
  );
  assert.equal(JSON.parse(problems.get("pg") ?? "").length, 1_000);
  assert.equal(moreProblems.get("pg"), 200);
  assert.deepEqual(leftOut, ["bad-1"]);
});

Deno.test("clusterReports() counts the problems that konnectors did not list", () => {
  const sync = { objects: 99, conflicts: 3, rejected: 5 };
  const beats = [
    beat(pg, "u", { sync, problems: [problem("a"), problem("b")] }),
    beat(theirs, "v", { sync: { ...sync, rejected: 0 }, problems: [problem("a")] }),
    beat(mq, "u", { sync: { objects: 1, conflicts: 1, rejected: 0 }, problems: [problem("a")] }),
  ];
  const { moreProblems } = clusterReports([pg, mq, theirs], lookup(beats));
  assert.deepEqual([...moreProblems], [["pg", 8]]);
  const lie = { objects: 0, conflicts: Number.MAX_SAFE_INTEGER, rejected: 7 };
  const lies = clusterReports(
    [pg],
    lookup([beat(pg, "u", { sync: lie }), beat(pg, "v", { sync })]),
  );
  assert.equal(lies.moreProblems.get("pg"), Number.MAX_SAFE_INTEGER);
});

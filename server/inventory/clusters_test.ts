import assert from "node:assert/strict";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Grant } from "../../common/api/resources.ts";
import type { Clusters } from "../../common/api/wire.ts";
import { boundaryName } from "../../common/api/names.ts";
import {
  attributionOf,
  exportsByGrant,
  type HeartbeatLookup,
  textOfOrigin,
} from "./attribution.ts";
import { ClusterList, type ClusterSources } from "./clusters.ts";
import { connectionKey, type Heartbeat } from "../provider/heartbeats.ts";
import type { LeaveOut } from "./leave_out.ts";

const NOW = Date.parse("2026-05-01T12:00:00Z");
const HOUR = 3_600_000;
const CREATED = "2026-05-01T10:00:00Z";
const iso = (ms: number) => new Date(ms).toISOString();
const subjectOf = (who: string) => `https://idp.example.org#${who}`;

const grant = (
  name: string,
  who: string,
  displayName?: string,
  apis = ["a.example.org"],
): Grant => ({
  apiVersion: IAM_API_VERSION,
  kind: "Grant",
  metadata: { name, uid: name, creationTimestamp: CREATED },
  spec: {
    identity: { subject: subjectOf(who), ...(displayName ? { displayName } : {}) },
    exportName: name.split("-")[0] ?? "",
    apis: apis.map((api) => ({ name: api })),
  },
});

let leases = 0;
const beat = (of: Grant, consumerUid: string, agoMs: number, more: Partial<Heartbeat> = {}) => {
  const namespace = boundaryName(of.spec.identity.subject);
  const metadata = { name: `lease-${leases++}`, namespace, creationTimestamp: CREATED };
  const times = { renewTimeMs: NOW - agoMs, durationMs: 60_000, seenMs: NOW };
  return { metadata, connection: of.metadata.name, consumerUid, ...times, ...more };
};

/** Finds Leases by index, as the cache does, and counts how many it returned. */
function lookup(beats: readonly Heartbeat[]): HeartbeatLookup & { looks: number } {
  const keyOf = ({ metadata, connection = "" }: Heartbeat) =>
    connectionKey(metadata.namespace ?? "", connection);
  const index = Map.groupBy(beats, keyOf);
  return {
    looks: 0,
    *find(_index, value) {
      for (const each of index.get(value) ?? []) {
        this.looks++;
        yield each;
      }
    },
  };
}

const sources = (grants: Grant[], beats: Heartbeat[], more: Partial<ClusterSources> = {}) => {
  return { grants, heartbeats: lookup(beats), syncedCounts: () => 0, nowMs: NOW, ...more };
};

const viewOf = (of: ClusterSources) => new ClusterList().view(of);
const clustersOf = (of: ClusterSources): Clusters => JSON.parse(viewOf(of).json);

Deno.test("ClusterList shows every field of a cluster and of a pending Grant", () => {
  const apis = ["a.example.org", "b.example.org", "unlisted.example.org"];
  const used = grant("pg-1", "ada", "ada@example.org", apis);
  const waiting = grant("mq-1", "bob", "bob@example.org");
  const nameless = grant("ab-1", "eve");
  const counts: Record<string, number> = {
    "a.example.org uid-1 pg-1": 3,
    "b.example.org uid-1 pg-1": 0,
  };
  const clusters = clustersOf(sources([used, waiting, nameless], [beat(used, "uid-1", 1_000)], {
    syncedCounts: (api, uid, grant) => counts[`${api} ${uid} ${grant}`],
  }));
  assert.deepEqual(clusters, {
    clusters: [{
      uid: "uid-1",
      lastHeartbeat: iso(NOW - 1_000),
      live: true,
      bindings: [{
        grant: "pg-1",
        export: "pg",
        identity: "ada@example.org",
        subject: subjectOf("ada"),
        boundaryNamespace: boundaryName(subjectOf("ada")),
        lastHeartbeat: iso(NOW - 1_000),
        live: true,
        apis: [
          { name: "a.example.org", syncedCount: 3 },
          { name: "b.example.org", syncedCount: 0 },
          { name: "unlisted.example.org" },
        ],
      }],
    }],
    pending: [
      { grant: "ab-1", export: "ab", createdAt: CREATED },
      { grant: "mq-1", export: "mq", identity: "bob@example.org", createdAt: CREATED },
    ],
  });
});

Deno.test("ClusterList shows what the newest Lease tells, and a name only of one identity", () => {
  const [pg, mq, theirs] = [grant("pg-1", "ada"), grant("mq-1", "ada"), grant("pg-2", "eve")];
  const sync = { objects: 3, conflicts: 1, rejected: 0 };
  const problems = [{ api: "a.example.org", name: "x", reason: "Rejected", message: "" }];
  const beats = [
    beat(pg, "uid-1", 1_000, {
      report: { clusterName: "prod", konnectorVersion: "1.0.0", sync, problems },
    }),
    beat(pg, "uid-1", 2_000, { report: { clusterName: "older", sync } }),
    beat(mq, "uid-1", 9_000, { report: { clusterName: "oldest" } }),
    beat(theirs, "uid-2", 1_000, { report: { clusterName: "theirs" } }),
  ];
  const shown = (all: Heartbeat[]) =>
    clustersOf(sources([pg, mq, theirs], all)).clusters.map(({ uid, name, bindings }) => [
      uid,
      name,
      ...bindings.map(({ clusterName, konnectorVersion, sync, ...rest }) => {
        assert.equal("problems" in rest, false);
        return [clusterName, konnectorVersion, sync];
      }),
    ]);
  const own = [["oldest", undefined, undefined], ["prod", "1.0.0", sync]];
  const foreign = ["uid-2", "theirs", ["theirs", undefined, undefined]];
  assert.deepEqual(shown(beats), [["uid-1", "prod", ...own], foreign]);
  const forged = beat(theirs, "uid-1", 0, { report: { clusterName: "forged" } });
  assert.deepEqual(shown([...beats, forged])[0], [
    "uid-1",
    undefined,
    ...own,
    ["forged", undefined, undefined],
  ]);
});

Deno.test("ClusterList calls a cluster live for twice the duration of its Lease", async (t) => {
  const one = grant("pg-1", "ada");
  const cases: [string, Partial<Heartbeat>, number, boolean][] = [
    ["at the limit", {}, 120_000, true],
    ["past the limit", {}, 120_001, false],
    ["a short Lease", { durationMs: 1_000 }, 2_001, false],
    ["a long Lease", { durationMs: 600_000 }, 1_200_000, true],
    ["a consumer clock ahead, seen long ago", { seenMs: NOW - 130_000 }, -3_600_000, false],
    ["a consumer clock ahead, seen just now", { seenMs: NOW - 5 }, -3_600_000, true],
  ];
  for (const [name, more, agoMs, live] of cases) {
    await t.step(name, () => {
      const [cluster] = clustersOf(sources([one], [beat(one, "u", agoMs, more)])).clusters;
      assert.equal(cluster?.live, live);
      assert.equal(cluster?.bindings[0]?.live, live);
      assert.equal(Date.parse(cluster?.lastHeartbeat ?? "") <= NOW, true);
    });
  }
});

Deno.test("ClusterList groups Grants by cluster", async (t) => {
  const [a, b, c] = [grant("a-1", "ada"), grant("b-1", "ada"), grant("c-1", "bob")];
  const deleted = { ...c, metadata: { ...c.metadata, deletionTimestamp: CREATED } };
  const broken = { ...c, spec: { identity: { subject: 7 } } } as unknown as Grant;
  const foreign = { metadata: { name: "l", namespace: boundaryName("someone else") } };
  const namespace = boundaryName(subjectOf("ada"));
  const old = { metadata: { name: "l", namespace, creationTimestamp: iso(NOW - 10 * HOUR) } };
  const used = [["u true 0", "a-1 true 0"]];
  const cases: [string, Grant[], Heartbeat[], string[][], pending?: string[], broken?: string[]][] =
    [
      ["without Grants", [], [], []],
      ["without a pending Grant", [a], [beat(a, "u", 0)], used],
      ["by UID and name, with the newest Lease, and a shared Grant in both", [c, b, a], [
        beat(c, "uid-1", 500_000),
        beat(b, "uid-1", 300_000),
        beat(a, "uid-1", 10_000),
        beat(a, "uid-0", 200_000),
        beat(a, "uid-1", 20_000),
      ], [
        ["uid-0 false 200000", "a-1 false 200000"],
        ["uid-1 true 10000", "a-1 true 10000", "b-1 false 300000", "c-1 false 500000"],
      ]],
      ["without a Grant that is being deleted", [deleted, a], [beat(deleted, "u", 0)], [], ["a-1"]],
      ["without a Lease in another boundary", [a], [beat(a, "u", 0, foreign)], [], ["a-1"]],
      ["without a Lease older than the Grant", [a], [beat(a, "u", 9 * HOUR, old)], [], ["a-1"]],
      ["without a broken Grant", [broken, a, b], [beat(a, "u", 0)], used, ["b-1"], ["c-1"]],
    ];
  for (const [name, grants, beats, expected, expectedPending, broken = []] of cases) {
    await t.step(name, () => {
      const leftOut: string[] = [];
      const leaveOut: LeaveOut = ({ metadata }) => leftOut.push(metadata.name);
      const { clusters, pending } = clustersOf(sources(grants, beats, { leaveOut }));
      const ago = (time: string) => NOW - Date.parse(time);
      const summary = clusters.map(({ uid, live, lastHeartbeat, bindings }) => [
        `${uid} ${live} ${ago(lastHeartbeat)}`,
        ...bindings.map((each) => `${each.grant} ${each.live} ${ago(each.lastHeartbeat)}`),
      ]);
      assert.deepEqual(summary, expected);
      assert.deepEqual(pending?.map((each) => each.grant), expectedPending);
      assert.deepEqual(leftOut, broken);
    });
  }
});

Deno.test("ClusterList returns when the next cluster stops being live", () => {
  const [a, b] = [grant("a-1", "ada"), grant("b-1", "bob")];
  const cases: [Heartbeat[], number | undefined][] = [
    [[], undefined],
    [[beat(a, "u", 130_000)], undefined],
    [[beat(a, "u", 10_000), beat(b, "u", 50_000)], NOW + 70_000],
    [[beat(a, "u", 10_000), beat(a, "u", 50_000)], NOW + 110_000], // the newer Lease counts
    [[beat(a, "u", 10_000)], NOW + 110_000],
  ];
  for (const [beats, validUntilMs] of cases) {
    assert.equal(viewOf(sources([a, b], beats)).validUntilMs, validUntilMs);
  }
  const isLive = (nowMs: number) =>
    clustersOf(sources([a], [beat(a, "u", 10_000)], { nowMs })).clusters[0]?.live;
  assert.deepEqual([isLive(NOW + 110_000), isLive(NOW + 110_001)], [true, false]);
});

Deno.test("ClusterList reads only the Leases of each Grant", () => {
  const grants = Array.from({ length: 200 }, (_, i) => grant(`g${i}-1`, `user-${i}`));
  const own = grants.map((each, i) => beat(each, `uid-${i}`, 0));
  const foreign = Array.from({ length: 5_000 }, (_, i) => beat(grant(`x${i}`, "ada"), "u", 0));
  const heartbeats = lookup([...own, ...foreign]);
  assert.equal(clustersOf(sources(grants, [], { heartbeats })).clusters.length, 200);
  assert.equal(heartbeats.looks, 200);
});

Deno.test("ClusterList returns the same as a new ClusterList after any changes", () => {
  const list = new ClusterList();
  const grants = ["a-ada", "b-ada", "a-bob", "b-bob"].map((name) => grant(name, name.slice(2)));
  const leases: Heartbeat[] = [];
  const counts = new Map<string, number | undefined>();
  let nowMs = NOW;
  const next = numbers(7);
  const uid = () => `uid-${next(3)}`;
  const appear = () => leases.push(beat(grants[next(4)] as Grant, uid(), NOW - nowMs + 1));
  const changes: (() => unknown)[] = [
    () => leases.length < 9 && appear(),
    () => leases.splice(next(9), 1),
    () => {
      const [at, renewTimeMs] = [next(9), nowMs - next(90_000)];
      if (leases[at]) leases[at] = { ...leases[at], renewTimeMs, seenMs: renewTimeMs };
    },
    () => counts.set(uid(), next(4) || undefined),
    () => grants.splice(next(4), 0, ...grants.splice(next(4), 1)),
    () => grants.push({ ...grants.shift() as Grant }),
    () => nowMs += next(30_000),
    () => nowMs -= next(10_000),
  ];
  let seen = 0;
  for (let round = 0; round < 2_000; round++) {
    changes[next(changes.length)]?.();
    const now = sources(grants, leases, { nowMs, syncedCounts: (_api, of) => counts.get(of) });
    const view = list.view(now);
    assert.deepEqual(view, viewOf(now), `round ${round}`);
    seen += JSON.parse(view.json).clusters.length;
  }
  assert.ok(seen > 2_000, "there was something to see");
});

/** Returns pseudo-random numbers below a limit, the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor(state / 65_536) % below;
  };
}

Deno.test("attributionOf() names the one identity of a cluster, or that of each Grant", () => {
  const a = grant("a-1", "ada", "ada@example.org");
  const b = grant("b-1", "ada", "ada.l@example.org");
  const bare = grant("0-1", "ada");
  const bob = grant("c-1", "bob", "bob@example.org");
  const eve = grant("e-1", "eve");
  const users = { ada: [bare, a, b], bob: [bob], both: [bob, a], eve: [eve], mixed: [eve, bob] };
  const beats = Object.entries(users).flatMap(([name, grants]) =>
    grants.map((each) => beat(each, `uid-${name}`, 0))
  );
  const table: [uid: string, grant: string | undefined, identity: string | undefined][] = [
    ["uid-ada", undefined, "ada@example.org"],
    ["uid-ada", "b-1", "ada@example.org"],
    ["uid-ada", "c-1", "ada@example.org"], // a Grant without a heartbeat from that cluster
    ["uid-bob", undefined, "bob@example.org"],
    ["uid-both", undefined, undefined],
    ["uid-both", "a-1", "ada@example.org"],
    ["uid-both", "c-1", "bob@example.org"],
    ["uid-both", "b-1", undefined],
    ["uid-eve", "e-1", undefined],
    ["uid-mixed", undefined, undefined],
    ["uid-mixed", "c-1", "bob@example.org"],
    ["c-1/uid-mixed", undefined, undefined],
    ["unknown", "a-1", undefined],
  ];
  for (const grants of [[a, b, bare, bob, eve], [eve, bob, bare, b, a]]) {
    const attribution = attributionOf(grants, lookup(beats));
    for (const [uid, of, identity] of table) {
      assert.equal(textOfOrigin(attribution, uid, of), identity, `${uid} ${of}`);
    }
  }
});

Deno.test("attributionOf() leaves out a broken Grant", () => {
  const leftOut: string[] = [];
  const broken = { ...grant("bad-1", "ada"), spec: null } as unknown as Grant;
  const good = grant("a-1", "ada", "ada@example.org");
  const leaveOut: LeaveOut = ({ metadata }) => leftOut.push(metadata.name);
  const found = attributionOf([broken, good], lookup([beat(good, "u", 0)]), leaveOut);
  assert.equal(textOfOrigin(found, "u", undefined), "ada@example.org");
  assert.deepEqual(leftOut, ["bad-1"]);
});

Deno.test("exportsByGrant() skips a broken Grant", () => {
  const broken = { ...grant("bad-1", "ada"), spec: null } as unknown as Grant;
  assert.deepEqual([...exportsByGrant([broken, grant("a-1", "ada")])], [["a-1", "a"]]);
});

import assert from "node:assert/strict";
import type { Heartbeat } from "./heartbeats.ts";
import type { Change } from "../../common/kube/cache.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import { LeaseWatch, type Moment, quietTimeMs } from "./lease_watch.ts";

const LOST = new KubeError("lost", { status: 0, reason: "ConnectionLost" });
const EXPIRED = new KubeError("too old", { status: 410, reason: "Expired" });

const QUIET_MS = 120_000;

const heartbeat = (namespace: string, connection?: string): Heartbeat => ({
  metadata: { name: "lease", namespace },
  ...(connection === undefined ? {} : { connection }),
  durationMs: 60_000,
  seenMs: 0,
});

/** Makes a LeaseWatch whose cache and clock the test controls. */
function setUp(quietMs = QUIET_MS) {
  let nowMs = 0;
  const moment = (ms: number): Moment => ({ wallMs: 1_000_000 + ms, steadyMs: ms });
  const watch = new LeaseWatch(quietMs, () => moment(nowMs));
  const reports = watch.reports();
  let change: (change: Change<Heartbeat>) => void = () => {};
  watch.observe({
    onChange: (listener) => {
      change = listener;
      return () => {};
    },
  });
  return {
    moment,
    at: (ms: number) => {
      nowMs = ms;
      return {
        connected: () => reports.connected?.(),
        disconnected: (error: unknown) => reports.disconnected?.(error),
        change: (parts: Change<Heartbeat>) => change(parts),
      };
    },
    seen: () => watch.observation("ns", (connection) => connection === "pg"),
  };
}

Deno.test("LeaseWatch reports nothing before the first sync", () => {
  const { at, seen } = setUp();
  at(1).change({ after: heartbeat("ns", "pg") });
  assert.deepEqual(seen(), {});
});

Deno.test("LeaseWatch counts from the first sync, and does not count the first list as a change", () => {
  const { at, seen, moment } = setUp();
  at(1).change({ after: heartbeat("ns", "pg") });
  at(2).connected();
  assert.deepEqual(seen(), { watchedSince: moment(2) });
});

Deno.test("LeaseWatch returns the last change, including creation and deletion", () => {
  const { at, seen, moment } = setUp();
  const lease = heartbeat("ns", "pg");
  at(1).connected();
  at(2).change({ after: lease });
  assert.deepEqual(seen().lastChange, moment(2));
  at(3).change({ before: lease, after: lease });
  assert.deepEqual(seen().lastChange, moment(3));
  at(4).change({ before: lease });
  assert.deepEqual(seen().lastChange, moment(4));
  at(5).change({ before: lease, after: heartbeat("ns", "renamed") });
  assert.deepEqual(seen().lastChange, moment(5));
});

Deno.test("LeaseWatch ignores other namespaces, other Connections and Leases without a Connection", () => {
  const { at, seen, moment } = setUp();
  at(1).connected();
  at(2).change({ after: heartbeat("elsewhere", "pg") });
  at(3).change({ after: heartbeat("ns", "other") });
  at(4).change({ after: heartbeat("ns") });
  assert.deepEqual(seen(), { watchedSince: moment(1) });
});

Deno.test("LeaseWatch", async (t) => {
  const table: [string, number, unknown[], number][] = [
    ["survives a watch that ends in good order", 60_000, [], 1],
    ["survives a reconnect that resumes", 11_000, [LOST, LOST], 1],
    ["starts over after a break of more than ten seconds", 11_001, [LOST], 11_001],
    ["starts over when the server forgot what happened", 1_500, [LOST, EXPIRED], 1_500],
  ];
  for (const [does, backAtMs, errors, since] of table) {
    await t.step(does, () => {
      const { at, seen, moment } = setUp();
      at(1).connected();
      for (const error of errors) at(1_000).disconnected(error);
      at(backAtMs).connected();
      assert.deepEqual(seen(), { watchedSince: moment(since) });
    });
  }
});

Deno.test("LeaseWatch counts no change from before a restart", () => {
  const { at, seen, moment } = setUp();
  at(1).connected();
  at(2).change({ after: heartbeat("ns", "pg") });
  at(3).disconnected(EXPIRED);
  at(4).change({ after: heartbeat("ns", "pg") });
  at(5).connected();
  assert.deepEqual(seen(), { watchedSince: moment(5) });
});

Deno.test("LeaseWatch measures an interruption from its first failure", () => {
  const { at, seen, moment } = setUp();
  at(1).connected();
  at(1_000).disconnected(LOST);
  at(9_000).disconnected(LOST);
  at(12_000).connected();
  assert.deepEqual(seen(), { watchedSince: moment(12_000) });
});

Deno.test("LeaseWatch forgets changes that are older than the longest period asked for", () => {
  const { at, seen, moment } = setUp();
  at(1).connected();
  at(2).change({ after: heartbeat("ns", "pg") });
  at(2 + QUIET_MS).change({ after: heartbeat("elsewhere", "pg") });
  assert.deepEqual(seen().lastChange, moment(2));
  at(2 + 2 * QUIET_MS).change({ after: heartbeat("elsewhere", "pg") });
  assert.deepEqual(seen(), { watchedSince: moment(1) });
});

Deno.test("LeaseWatch tolerates an interruption of a small part of the silent period", () => {
  for (const [backAtMs, since] of [[1_001, 1], [1_002, 1_002]] as const) {
    const { at, seen, moment } = setUp(4_000);
    at(1).connected();
    at(1).disconnected(LOST);
    at(backAtMs).connected();
    assert.deepEqual(seen(), { watchedSince: moment(since) });
  }
});

Deno.test("LeaseWatch passes reports on", () => {
  const heard: unknown[] = [];
  const reports = new LeaseWatch(10_000).reports({
    connected: () => heard.push("connected"),
    disconnected: (error) => heard.push(error),
    failed: (error) => heard.push(error),
  });
  reports.connected?.();
  reports.disconnected?.(1);
  reports.failed?.(2);
  assert.deepEqual(heard, ["connected", 1, 2]);
});

Deno.test("quietTimeMs() is the TTL, at most two minutes", () => {
  assert.deepEqual([1, 119_999, 120_000, 120_001, 600_000].map(quietTimeMs), [
    1,
    119_999,
    120_000,
    120_000,
    120_000,
  ]);
});

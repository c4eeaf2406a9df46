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
        change: (parts: Omit<Change<Heartbeat>, "key">) => change({ key: "ns/pg", ...parts }),
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
  const renamed = heartbeat("ns", "renamed");
  const changes = [{ after: lease }, { before: lease, after: lease }, { before: lease }];
  at(1).connected();
  for (const [i, change] of [...changes, { before: lease, after: renamed }].entries()) {
    at(2 + i).change(change);
    assert.deepEqual(seen().lastChange, moment(2 + i));
  }
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
  type Failures = [atMs: number, error: unknown][];
  const table: [string, Failures, backAtMs: number, sinceMs: number, quietMs?: number][] = [
    ["survives a watch that ends in good order", [], 60_000, 1],
    ["survives a reconnect that resumes", [[1_000, LOST], [1_000, LOST]], 11_000, 1],
    ["starts over after a break of more than ten seconds", [[1_000, LOST]], 11_001, 11_001],
    ["starts over after an expired watch", [[1_000, LOST], [1_000, EXPIRED]], 1_500, 1_500],
    ["measures from the first failure", [[1_000, LOST], [9_000, LOST]], 12_000, 12_000],
    ["survives a break of a quarter of the silent period", [[1, LOST]], 1_001, 1, 4_000],
    ["starts over after a longer break than that", [[1, LOST]], 1_002, 1_002, 4_000],
  ];
  for (const [does, failures, backAtMs, sinceMs, quietMs] of table) {
    await t.step(does, () => {
      const { at, seen, moment } = setUp(quietMs);
      at(1).connected();
      for (const [atMs, error] of failures) at(atMs).disconnected(error);
      at(backAtMs).connected();
      assert.deepEqual(seen(), { watchedSince: moment(sinceMs) });
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

Deno.test("LeaseWatch forgets changes that are older than the longest period asked for", () => {
  const { at, seen, moment } = setUp();
  at(1).connected();
  at(2).change({ after: heartbeat("ns", "pg") });
  at(2 + QUIET_MS).change({ after: heartbeat("elsewhere", "pg") });
  assert.deepEqual(seen().lastChange, moment(2));
  at(2 + 2 * QUIET_MS).change({ after: heartbeat("elsewhere", "pg") });
  assert.deepEqual(seen(), { watchedSince: moment(1) });
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
  const times = [1, 119_999, 120_000, 120_001, 600_000].map(quietTimeMs);
  assert.deepEqual(times, [1, 119_999, 120_000, 120_000, 120_000]);
});

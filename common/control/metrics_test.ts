import assert from "node:assert/strict";
import { createMetrics } from "./metrics.ts";
import { Queue } from "./queue.ts";

const NAMES = [
  ...["controller_runtime_reconcile_total", "controller_runtime_reconcile_errors_total"],
  ...["controller_runtime_reconcile_time_seconds", "controller_runtime_active_workers"],
  ...["controller_runtime_max_concurrent_reconciles", "workqueue_depth", "workqueue_adds_total"],
  ...["workqueue_queue_duration_seconds", "workqueue_work_duration_seconds"],
  ...["workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds"],
  ...["workqueue_retries_total", "rest_client_requests_total", "leader_election_master_status"],
  ...["process_resident_memory_bytes", "process_start_time_seconds", "process_cpu_seconds_total"],
  "xbind_build_info",
];

/** Returns the value of the line with this name and these labels. */
const valueOf = (text: string, series: string): number => {
  const line = text.split("\n").find((line) => line.startsWith(`${series} `));
  assert.ok(line, `${series} is missing in\n${text}`);
  return Number(line.slice(series.length + 1));
};

Deno.test("createMetrics() shows every metric from the start", async () => {
  const metrics = createMetrics({ version: "1.2.3" });
  const text = await metrics.text();
  for (const name of NAMES) assert.match(text, new RegExp(`^# TYPE ${name} `, "m"));
  assert.match(metrics.contentType, /^text\/plain/);
  assert.equal(valueOf(text, 'xbind_build_info{version="1.2.3"}'), 1);
});

Deno.test("createMetrics() shows the process without reading /proc", async () => {
  const text = await createMetrics({ version: "test" }).text();
  const now = Date.now() / 1000;
  const startedAt = valueOf(text, "process_start_time_seconds");
  assert.ok(startedAt > now - 3_600 && startedAt <= now, `started at ${startedAt}`);
  assert.ok(valueOf(text, "process_resident_memory_bytes") > 10_000_000);
  assert.ok(valueOf(text, "process_cpu_seconds_total") > 0);
});

Deno.test("createMetrics() makes independent metrics", async () => {
  const [one, other] = [createMetrics({ version: "1" }), createMetrics({ version: "2" })];
  one.restRequests("api")("GET", 200);
  assert.doesNotMatch(await other.text(), /host="api"/);
});

const ofGrants = (text: string, name: string, labels = 'controller="grants"') =>
  valueOf(text, `controller_runtime_${name}{${labels}}`);
const total = (text: string, result: string) =>
  ofGrants(text, "reconcile_total", `controller="grants",result="${result}"`);

Deno.test("Metrics.controller() shows zeros before the first reconcile", async () => {
  const metrics = createMetrics({ version: "test" });
  metrics.controller("grants", { workers: 4, queue: new Queue() });
  const text = await metrics.text();
  const results = ["success", "error", "requeue", "requeue_after"].map((each) => total(text, each));
  assert.deepEqual(results, [0, 0, 0, 0]);
  assert.equal(ofGrants(text, "max_concurrent_reconciles"), 4);
  for (const name of ["active_workers", "reconcile_errors_total", "reconcile_time_seconds_count"]) {
    assert.equal(ofGrants(text, name), 0, name);
  }
});

Deno.test("Metrics.controller() counts reconciles, except interrupted ones", async () => {
  const metrics = createMetrics({ version: "test" });
  const meter = metrics.controller("grants", { workers: 4, queue: new Queue() });
  for (const result of ["success", "success", "error", "requeue_after", "interrupted"] as const) {
    meter.started()(result);
  }
  const stillRunning = meter.started();
  const text = await metrics.text();
  const totals = ["success", "error", "requeue_after"].map((each) => total(text, each));
  assert.deepEqual(totals, [2, 1, 1]);
  assert.equal(ofGrants(text, "reconcile_errors_total"), 1);
  assert.equal(ofGrants(text, "reconcile_time_seconds_count"), 4);
  assert.equal(ofGrants(text, "active_workers"), 1);
  stillRunning("success");
});

Deno.test("Metrics.controller() shows the queue of each controller", async () => {
  const metrics = createMetrics({ version: "test" });
  let now = 0;
  const queue = new Queue({ now: () => now });
  metrics.controller("grants", { workers: 1, queue });
  metrics.controller("exports", { workers: 1, queue: new Queue() });
  for (const key of ["a", "b", "c", "d"]) queue.add(key);
  now = 2_000;
  for (let taken = 0; taken < 3; taken++) await queue.take(new AbortController().signal);
  now = 5_000;
  queue.fail("a");
  const text = await metrics.text();
  queue.shutdown();
  const value = (name: string) => valueOf(text, `${name}{name="grants",controller="grants"}`);
  assert.equal(value("workqueue_depth"), 1);
  assert.equal(value("workqueue_adds_total"), 4);
  assert.equal(value("workqueue_retries_total"), 1);
  assert.equal(value("workqueue_queue_duration_seconds_sum"), 6);
  assert.equal(value("workqueue_work_duration_seconds_sum"), 3);
  assert.equal(value("workqueue_unfinished_work_seconds"), 6);
  assert.equal(value("workqueue_longest_running_processor_seconds"), 3);
  assert.equal(value("xbind_workqueue_failing_keys"), 1);
  assert.equal(value("xbind_workqueue_delayed_keys"), 1);
  assert.equal(valueOf(text, 'workqueue_depth{name="exports",controller="exports"}'), 0);
});

Deno.test("Metrics.restRequests() counts answers by code, host and method", async () => {
  const metrics = createMetrics({ version: "test" });
  const onAnswer = metrics.restRequests("10.0.0.1:6443");
  for (const status of [200, 200, 0]) onAnswer("GET", status);
  const text = await metrics.text();
  const count = (code: string) =>
    valueOf(text, `rest_client_requests_total{code="${code}",host="10.0.0.1:6443",method="GET"}`);
  assert.deepEqual([count("200"), count("<error>")], [2, 1]);
});

Deno.test("Metrics.leaderElection() distinguishes leader and standby", async () => {
  const metrics = createMetrics({ version: "test" });
  const series = 'leader_election_master_status{name="backend.xbind.io"}';
  const onChange = metrics.leaderElection("backend.xbind.io");
  assert.equal(valueOf(await metrics.text(), series), 0);
  for (const isLeader of [true, false]) {
    onChange(isLeader);
    assert.equal(valueOf(await metrics.text(), series), isLeader ? 1 : 0);
  }
});

Deno.test("Metrics.gauge() collects at every scrape and drops values that are gone", async () => {
  const metrics = createMetrics({ version: "test" });
  let states: Record<string, number> = { ready: 3, stale: 1 };
  const collect = () =>
    Object.entries(states).map(([state, value]) => ({ labels: { state }, value }));
  metrics.gauge("xbind_grants", "Grants by state", ["state"], collect);
  assert.equal(valueOf(await metrics.text(), 'xbind_grants{state="stale"}'), 1);
  states = { ready: 4 };
  const text = await metrics.text();
  assert.equal(valueOf(text, 'xbind_grants{state="ready"}'), 4);
  assert.doesNotMatch(text, /state="stale"/);
});

Deno.test("Metrics.gauge() refuses a second gauge of the same name", () => {
  const metrics = createMetrics({ version: "test" });
  const add = () => metrics.gauge("xbind_grants", "Grants", [], () => []);
  add();
  assert.throws(add, /xbind_grants/);
});

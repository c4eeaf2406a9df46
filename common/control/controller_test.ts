import assert from "node:assert/strict";
import fc from "fast-check";
import {
  controller,
  type ControllerOptions,
  done,
  type Reconcile,
  requeueAfter,
} from "./controller.ts";
import { createLogger, type Log } from "../log/log.ts";
import { createMetrics } from "./metrics.ts";
import { Queue, type QueueOptions } from "./queue.ts";
import { aborted } from "../time/runnable.ts";
import { sleep } from "../time/wait.ts";

const shutdown = () => new Error("shutdown");

/** Makes a controller with its queue, its log lines and its metrics. */
function setUp(
  reconcile: Reconcile,
  { workers = 1, isPassing, failureLimit }:
    & Partial<Pick<ControllerOptions, "workers" | "isPassing">>
    & Pick<QueueOptions, "failureLimit"> = {},
) {
  const lines: Record<string, unknown>[] = [];
  const log: Log = createLogger({
    encoder: "json",
    level: "info",
    stacktraceLevel: "panic",
    timeEncoding: "epoch",
    write: (line) => lines.push(JSON.parse(line)),
  });
  const metrics = createMetrics({ version: "test" });
  const queue = new Queue({
    backoff: { baseMs: 1, capMs: 2 },
    ...(failureLimit && { failureLimit }),
  });
  const run = controller({
    name: "grants",
    queue,
    reconcile,
    ...(isPassing && { isPassing }),
    workers,
    log,
    metrics,
  });
  return { run, queue, lines, metrics };
}

Deno.test("controller() reconciles all queued keys with the given number of workers", async () => {
  const stop = new AbortController();
  const working = new Set<string>();
  const { run, queue } = setUp(async (key, signal) => {
    working.add(key);
    if (working.size === 3) stop.abort(shutdown());
    await aborted(signal);
    return done;
  }, { workers: 3 });
  for (const key of ["a", "b", "c", "d"]) queue.add(key);
  await run(stop.signal);
  assert.deepEqual([...working], ["a", "b", "c"]);
  assert.equal(queue.depth, 1, "what was not begun stays");
});

Deno.test("controller() logs a reconcile that throws, and retries it", async () => {
  const stop = new AbortController();
  let turns = 0;
  const { run, queue, lines, metrics } = setUp(() => {
    if (++turns < 3) throw new Error(`turn ${turns}`);
    stop.abort(shutdown());
    return Promise.resolve(done);
  });
  queue.add("a");
  await run(stop.signal);
  assert.deepEqual(
    lines.map(({ level, msg, controller, key, error }) => ({ level, msg, controller, key, error })),
    [1, 2].map((turn) => ({
      level: "error",
      msg: "reconcile failed",
      controller: "grants",
      key: "a",
      error: `turn ${turn}`,
    })),
  );
  assert.equal(queue.failing, 0);
  const text = await metrics.text();
  assert.match(text, /reconcile_total{controller="grants",result="error"} 2\n/);
  assert.match(text, /reconcile_total{controller="grants",result="success"} 1\n/);
  assert.match(text, /reconcile_errors_total{controller="grants"} 2\n/);
});

Deno.test("controller() does not count passing failures", async () => {
  const stop = new AbortController();
  let turns = 0;
  const { run, queue } = setUp(() => {
    // A second counted failure would exceed the limit of an hour.
    if (++turns === 4) stop.abort(shutdown());
    return Promise.reject(new Error(turns === 3 ? "bad object" : "the server is away"));
  }, {
    isPassing: (error) => error instanceof Error && error.message === "the server is away",
    failureLimit: { takes: 2, ms: 3_600_000 },
  });
  queue.add("a");
  const tooLong = setTimeout(() => stop.abort(shutdown()), 10_000);
  await run(stop.signal);
  clearTimeout(tooLong);
  assert.equal(turns, 4);
  queue.shutdown();
});

Deno.test("controller() reconciles again after the time that a reconcile asked for", async () => {
  const stop = new AbortController();
  const times: number[] = [];
  const { run, queue, lines, metrics } = setUp(() => {
    times.push(performance.now());
    if (times.length === 2) stop.abort(shutdown());
    return Promise.resolve(times.length < 2 ? requeueAfter(30) : done);
  });
  queue.add("a");
  await run(stop.signal);
  const [first = 0, second = 0] = times;
  assert.ok(second - first >= 29, `came after ${second - first} ms`);
  assert.deepEqual([queue.failing, lines.length], [0, 0]);
  assert.match(await metrics.text(), /result="requeue_after"} 1\n/);
});

Deno.test("controller() returns after the running reconcile, without an error on abort", async (t) => {
  const endings: Record<string, (signal: AbortSignal) => void> = {
    "the reason of the abort": (signal) => signal.throwIfAborted(),
    "an AbortError": () => {
      throw new DOMException("cancelled", "AbortError");
    },
  };
  for (const [name, end] of Object.entries(endings)) {
    await t.step(name, async () => {
      const stop = new AbortController();
      let ended = false;
      const { run, queue, lines, metrics } = setUp(async (_key, signal) => {
        stop.abort(shutdown());
        await aborted(signal);
        await sleep(5);
        ended = true;
        end(signal);
        return done;
      });
      queue.add("a");
      await run(stop.signal);
      assert.ok(ended);
      assert.deepEqual([lines.length, queue.failing, queue.depth], [0, 0, 1]);
      assert.match(await metrics.text(), /active_workers{controller="grants"} 0\n/);
    });
  }
});

Deno.test("controller() reports a reconcile that fails during the shutdown", async () => {
  const stop = new AbortController();
  const { run, queue, lines } = setUp(() => {
    stop.abort(shutdown());
    return Promise.reject(new Error("broken"));
  });
  queue.add("a");
  await run(stop.signal);
  queue.shutdown();
  assert.equal(lines[0]?.error, "broken");
});

Deno.test("controller() runs again after a stop, with the keys left in the queue", async () => {
  let stop = new AbortController();
  const reconciled: string[] = [];
  const { run, queue } = setUp((key) => {
    reconciled.push(key);
    if ([1, 4].includes(reconciled.length)) stop.abort(shutdown());
    return Promise.resolve(done);
  });
  for (const key of ["a", "b"]) queue.add(key);
  await run(stop.signal);
  queue.add("c");
  stop = new AbortController();
  const again = run(stop.signal);
  queue.add("d");
  await again;
  assert.deepEqual(reconciled, ["a", "b", "c", "d"]);
});

Deno.test("controller() does nothing if the signal has aborted already", async () => {
  const { run, queue } = setUp(() => assert.fail("reconciled"));
  queue.add("a");
  await run(AbortSignal.abort(shutdown()));
  assert.equal(queue.depth, 1);
});

Deno.test("controller() puts a key back that reached a worker just before the abort", async () => {
  const stop = new AbortController();
  const { run, queue } = setUp(() => assert.fail("reconciled"));
  const running = run(stop.signal);
  queue.add("a");
  stop.abort(shutdown());
  await running;
  assert.equal(queue.depth, 1);
});

Deno.test("controller() throws when its queue is shut down", async () => {
  const { run, queue } = setUp(() => Promise.resolve(done));
  const running = assert.rejects(run(new AbortController().signal), /shut down/);
  queue.shutdown();
  await running;
});

Deno.test("controller() lets timers run while it reconciles a backlog from memory", async () => {
  const stop = new AbortController();
  let left = 2_000;
  let leftAtTimer = 0;
  const timer = setTimeout(() => leftAtTimer = left, 20);
  const { run, queue } = setUp(() => {
    const until = performance.now() + 0.1;
    while (performance.now() < until);
    if (--left === 0) stop.abort(shutdown());
    return Promise.resolve(done);
  });
  for (let key = 0; key < left; key++) queue.add(String(key));
  await run(stop.signal);
  clearTimeout(timer);
  assert.ok(leftAtTimer > 0, "the timer had to wait for the end of the backlog");
});

Deno.test("controller() never reconciles a key twice at once, and serves every event", async () => {
  const key = fc.constantFrom("a", "b", "c");
  const event = fc.record({ key, pause: fc.nat(3), ending: fc.constantFrom("done", "throw") });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40, size: "max" }), async (events) => {
      const stop = new AbortController();
      const working = new Set<string>();
      const unserved = new Set<string>();
      let overlaps = 0;
      let turns = 0;
      const { run, queue } = setUp(async (key) => {
        if (working.has(key)) overlaps++;
        working.add(key);
        unserved.delete(key);
        const { pause = 0, ending } = events[turns++] ?? {};
        await idle(pause);
        working.delete(key);
        if (ending === "throw") {
          unserved.add(key);
          throw new Error("again");
        }
        return done;
      }, { workers: 3 });
      const running = run(stop.signal);
      for (const { key, pause } of events) {
        unserved.add(key);
        queue.add(key);
        await idle(pause);
      }
      while (unserved.size + working.size + queue.depth + queue.delayed > 0) await sleep(1);
      stop.abort(shutdown());
      await running;
      assert.equal(overlaps, 0);
    }),
    { numRuns: 50 },
  );
});

/** Waits for some turns of the microtask queue. */
async function idle(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await Promise.resolve();
}

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  controller,
  type ControllerOptions,
  done,
  type Outcome,
  requeueAfter,
} from "./controller.ts";
import { createLogger } from "../log/log.ts";
import { createMetrics } from "./metrics.ts";
import { Queue, type QueueOptions } from "./queue.ts";
import { aborted } from "../time/runnable.ts";
import { sleep } from "../time/wait.ts";

const shutdown = () => new Error("shutdown");

/** Makes a controller whose reconciles can stop it, with its queue, log lines and metrics. */
function setUp(
  reconcile: (stop: () => void, key: string, signal: AbortSignal) => Promise<Outcome>,
  options: Partial<Pick<ControllerOptions, "workers" | "isPassing">> = {},
  queueOptions: QueueOptions = {},
) {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    encoder: "json",
    level: "info",
    stacktraceLevel: "panic",
    timeEncoding: "epoch",
    write: (line) => lines.push(JSON.parse(line)),
  });
  const metrics = createMetrics({ version: "test" });
  const queue = new Queue({ backoff: { baseMs: 1, capMs: 2 }, ...queueOptions });
  let current = new AbortController();
  const stop = () => current.abort(shutdown());
  const runUntil = controller({
    name: "grants",
    queue,
    reconcile: (key, signal) => reconcile(stop, key, signal),
    workers: 1,
    log,
    metrics,
    ...options,
  });
  /** Queues the keys, and runs until the stop. */
  const run = (...keys: string[]) => {
    for (const key of keys) queue.add(key);
    current = new AbortController();
    return runUntil(current.signal);
  };
  return { run, stop, runUntil, queue, lines, metrics };
}

Deno.test("controller() reconciles all queued keys with the given number of workers", async () => {
  const working = new Set<string>();
  const { run, queue } = setUp(async (stop, key, signal) => {
    working.add(key);
    if (working.size === 3) stop();
    await aborted(signal);
    return done;
  }, { workers: 3 });
  await run("a", "b", "c", "d");
  assert.deepEqual([...working], ["a", "b", "c"]);
  assert.equal(queue.depth, 1, "what was not begun stays");
});

Deno.test("controller() logs a reconcile that throws, and retries it", async () => {
  let turns = 0;
  const { run, queue, lines, metrics } = setUp((stop) => {
    if (++turns < 3) throw new Error(`turn ${turns}`);
    stop();
    return Promise.resolve(done);
  });
  await run("a");
  const failure = { level: "error", msg: "reconcile failed", controller: "grants", key: "a" };
  assert.deepEqual(
    lines.map(({ level, msg, controller, key, error }) => ({ level, msg, controller, key, error })),
    [{ ...failure, error: "turn 1" }, { ...failure, error: "turn 2" }],
  );
  assert.equal(queue.failing, 0);
  const text = await metrics.text();
  assert.match(text, /reconcile_total{controller="grants",result="error"} 2\n/);
  assert.match(text, /reconcile_total{controller="grants",result="success"} 1\n/);
  assert.match(text, /reconcile_errors_total{controller="grants"} 2\n/);
});

Deno.test("controller() does not count passing failures", async () => {
  let turns = 0;
  const { run, stop, queue } = setUp(
    (stop) => {
      // A second counted failure would exceed the limit of an hour.
      if (++turns === 4) stop();
      return Promise.reject(new Error(turns === 3 ? "bad object" : "the server is away"));
    },
    { isPassing: (error) => error instanceof Error && error.message === "the server is away" },
    { failureLimit: { takes: 2, ms: 3_600_000 } },
  );
  const tooLong = setTimeout(stop, 10_000);
  await run("a");
  clearTimeout(tooLong);
  assert.equal(turns, 4);
  queue.shutdown();
});

Deno.test("controller() reconciles again after the time that a reconcile asked for", async () => {
  const times: number[] = [];
  const { run, queue, lines, metrics } = setUp((stop) => {
    times.push(performance.now());
    if (times.length === 2) stop();
    return Promise.resolve(times.length < 2 ? requeueAfter(30) : done);
  });
  await run("a");
  const [first = 0, second = 0] = times;
  assert.ok(second - first >= 29, `came after ${second - first} ms`);
  assert.deepEqual([queue.failing, lines.length], [0, 0]);
  assert.match(await metrics.text(), /result="requeue_after"} 1\n/);
});

Deno.test("controller() returns after the running reconcile, without an error on abort", async (t) => {
  const abortError = new DOMException("cancelled", "AbortError");
  for (const name of ["the reason of the abort", "an AbortError"]) {
    await t.step(name, async () => {
      let ended = false;
      const { run, queue, lines, metrics } = setUp(async (stop, _key, signal) => {
        stop();
        await aborted(signal);
        await sleep(5);
        ended = true;
        throw name === "an AbortError" ? abortError : signal.reason;
      });
      await run("a");
      assert.ok(ended);
      assert.deepEqual([lines.length, queue.failing, queue.depth], [0, 0, 1]);
      assert.match(await metrics.text(), /active_workers{controller="grants"} 0\n/);
    });
  }
});

Deno.test("controller() reports a reconcile that fails during the shutdown", async () => {
  const { run, queue, lines } = setUp((stop) => {
    stop();
    return Promise.reject(new Error("broken"));
  });
  await run("a");
  queue.shutdown();
  assert.equal(lines[0]?.error, "broken");
});

Deno.test("controller() runs again after a stop, with the keys left in the queue", async () => {
  const reconciled: string[] = [];
  const { run, queue } = setUp((stop, key) => {
    reconciled.push(key);
    if ([1, 4].includes(reconciled.length)) stop();
    return Promise.resolve(done);
  });
  await run("a", "b");
  const again = run("c");
  queue.add("d");
  await again;
  assert.deepEqual(reconciled, ["a", "b", "c", "d"]);
});

Deno.test("controller() does nothing if the signal has aborted already", async () => {
  const { runUntil, queue } = setUp(() => assert.fail("reconciled"));
  queue.add("a");
  await runUntil(AbortSignal.abort(shutdown()));
  assert.equal(queue.depth, 1);
});

Deno.test("controller() puts a key back that reached a worker just before the abort", async () => {
  const { run, stop, queue } = setUp(() => assert.fail("reconciled"));
  const running = run();
  queue.add("a");
  stop();
  await running;
  assert.equal(queue.depth, 1);
});

Deno.test("controller() throws when its queue is shut down", async () => {
  const { run, queue } = setUp(() => Promise.resolve(done));
  const running = assert.rejects(run(), /shut down/);
  queue.shutdown();
  await running;
});

Deno.test("controller() lets timers run while it reconciles a backlog from memory", async () => {
  let left = 2_000;
  let leftAtTimer = 0;
  const timer = setTimeout(() => leftAtTimer = left, 20);
  const { run } = setUp((stop) => {
    const until = performance.now() + 0.1;
    while (performance.now() < until);
    if (--left === 0) stop();
    return Promise.resolve(done);
  });
  await run(...Array.from({ length: left }, (_, key) => String(key)));
  clearTimeout(timer);
  assert.ok(leftAtTimer > 0, "the timer had to wait for the end of the backlog");
});

/** A random history may let one key fail so often that the limit would delay it by a minute. */
const NO_FAILURE_LIMIT = { failureLimit: { takes: Infinity, ms: 60_000 } };

Deno.test("controller() never reconciles a key twice at once, and serves every event", async () => {
  const key = fc.constantFrom("a", "b", "c");
  const event = fc.record({ key, pause: fc.nat(3), ending: fc.constantFrom("done", "throw") });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40, size: "max" }), async (events) => {
      const working = new Set<string>();
      const unserved = new Set<string>();
      let overlaps = 0;
      let turns = 0;
      const { run, stop, queue } = setUp(
        async (_stop, key) => {
          if (working.has(key)) overlaps++;
          working.add(key);
          unserved.delete(key);
          const { pause = 0, ending } = events[turns++] ?? {};
          await idle(pause);
          working.delete(key);
          if (ending !== "throw") return done;
          unserved.add(key);
          throw new Error("again");
        },
        { workers: 3 },
        NO_FAILURE_LIMIT,
      );
      const running = run();
      for (const { key, pause } of events) {
        unserved.add(key);
        queue.add(key);
        await idle(pause);
      }
      while (unserved.size + working.size + queue.depth + queue.delayed > 0) await sleep(1);
      stop();
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

import assert from "node:assert/strict";
import fc from "fast-check";
import { Queue } from "./queue.ts";

/** Time that passes only when told to, for the queue's clock and for its timers. */
class VirtualTime implements Disposable {
  #now = 1_000;
  #timers = new Map<number, { at: number; run: () => void }>();
  #lastId = 0;
  readonly #real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };

  constructor() {
    const setTimeout = (run: () => void, ms: number) => {
      assert.ok(ms >= 0 && ms < 2 ** 31, `no timer can wait ${ms} ms`);
      this.#timers.set(++this.#lastId, { at: this.#now + ms, run });
      return this.#lastId;
    };
    const clearTimeout = (id: number) => this.#timers.delete(id);
    Object.assign(globalThis, { setTimeout, clearTimeout });
  }

  readonly now = (): number => this.#now;

  get timers(): number {
    return this.#timers.size;
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    while (true) {
      const [next] = [...this.#timers].toSorted(([, a], [, b]) => a.at - b.at);
      if (!next || next[1].at > end) break;
      this.#timers.delete(next[0]);
      this.#now = Math.max(this.#now, next[1].at);
      next[1].run();
    }
    this.#now = end;
  }

  [Symbol.dispose](): void {
    Object.assign(globalThis, this.#real);
  }
}

const NEVER = new AbortController().signal;

/** Takes what waits right now. */
async function takeAll(queue: Queue): Promise<string[]> {
  const keys: string[] = [];
  while (queue.depth > 0) keys.push(await queue.take(NEVER));
  return keys;
}

/** A queue in virtual time whose back-offs are not shortened by chance. */
function setUp() {
  const time = new VirtualTime();
  const queue = new Queue({ now: time.now, random: () => 1 });
  return { time, queue, [Symbol.dispose]: () => time[Symbol.dispose]() };
}

Deno.test("Queue gives each key once, in the order they came", async () => {
  const queue = new Queue();
  for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
  assert.equal(queue.depth, 3);
  assert.deepEqual(await takeAll(queue), ["a", "b", "c"]);
});

Deno.test("Queue gives urgent keys first, in the order they came", async () => {
  const queue = new Queue();
  for (const key of ["a", "b", "c"]) queue.add(key);
  queue.add("d", { urgent: true });
  queue.add("b", { urgent: true });
  queue.add("d");
  assert.deepEqual(await takeAll(queue), ["d", "b", "a", "c"]);
});

Deno.test("Queue gives a key again that was added while it was out, and only then", async () => {
  const queue = new Queue();
  queue.add("a");
  assert.equal(await queue.take(NEVER), "a");
  queue.add("a");
  queue.add("a", { urgent: true });
  queue.add("b");
  assert.deepEqual(await takeAll(queue), ["b"]);
  queue.succeed("a");
  assert.deepEqual(await takeAll(queue), ["a"]);
  queue.succeed("a");
  queue.succeed("b");
  assert.equal(queue.depth, 0);
});

Deno.test("Queue keeps the urgency of a key that is added while it is out", async () => {
  const queue = new Queue();
  queue.add("a");
  await queue.take(NEVER);
  queue.add("a", { urgent: true });
  queue.add("b");
  queue.succeed("a");
  assert.deepEqual(await takeAll(queue), ["a", "b"]);
});

Deno.test("Queue lets takers wait, and serves them in their order", async () => {
  const queue = new Queue();
  const takers = [queue.take(NEVER), queue.take(NEVER)];
  queue.add("a");
  queue.add("b");
  assert.deepEqual(await Promise.all(takers), ["a", "b"]);
});

Deno.test("Queue.take() rejects with the reason of the abort and loses no key", async () => {
  const queue = new Queue();
  const stop = new AbortController();
  const waiting = queue.take(stop.signal);
  stop.abort(new Error("stopped"));
  await assert.rejects(waiting, { message: "stopped" });
  queue.add("a");
  await assert.rejects(queue.take(stop.signal), { message: "stopped" });
  assert.equal(await queue.take(NEVER), "a");
});

Deno.test("Queue.addAfter() waits; the earliest time wins", async () => {
  using env = setUp();
  const { queue, time } = env;
  queue.addAfter("a", 500);
  queue.addAfter("a", 100);
  queue.addAfter("a", 900);
  assert.equal(time.timers, 1);
  time.advance(99);
  assert.equal(queue.depth, 0);
  time.advance(1);
  assert.deepEqual(await takeAll(queue), ["a"]);
  time.advance(10_000);
  assert.equal(queue.depth, 0);
});

Deno.test("Queue.add() cancels what was to come later", async () => {
  using env = setUp();
  const { queue, time } = env;
  queue.addAfter("a", 500, { urgent: true });
  queue.add("b");
  queue.add("a");
  assert.equal(time.timers, 0);
  queue.addAfter("a", 500);
  assert.equal(time.timers, 0, "a key that waits needs no timer");
  assert.deepEqual(await takeAll(queue), ["a", "b"], "the urgency stays");
});

Deno.test("Queue.addAfter() of no time is an add, and waits longer than any timer can", async () => {
  using env = setUp();
  const { queue, time } = env;
  queue.addAfter("a", 0);
  queue.addAfter("b", -1);
  assert.deepEqual(await takeAll(queue), ["a", "b"]);
  const year = 365 * 24 * 3_600_000;
  queue.addAfter("c", year);
  time.advance(year - 1);
  assert.equal(queue.depth, 0);
  time.advance(1);
  assert.deepEqual(await takeAll(queue), ["c"]);
});

Deno.test("Queue doubles the back-off of a failing key up to its cap", async () => {
  using time = new VirtualTime();
  const queue = new Queue({
    now: time.now,
    random: () => 1,
    failureLimit: { takes: 1_000, ms: 1 },
  });
  queue.add("a");
  const delays: number[] = [];
  for (let failures = 0; failures < 17; failures++) {
    assert.equal(await queue.take(NEVER), "a");
    queue.fail("a");
    const failedAt = time.now();
    while (queue.depth === 0) time.advance(5);
    delays.push(time.now() - failedAt);
  }
  assert.deepEqual(delays.slice(0, 6), [5, 10, 20, 40, 80, 160]);
  assert.deepEqual(delays.slice(-4), [40_960, 60_000, 60_000, 60_000]);
});

Deno.test("Queue draws each back-off between half and all of its step", async () => {
  using time = new VirtualTime();
  const queue = new Queue({ now: time.now, random: () => 0 });
  queue.add("a");
  await queue.take(NEVER);
  queue.fail("a");
  time.advance(2);
  assert.equal(queue.depth, 0);
  time.advance(1);
  assert.equal(queue.depth, 1);
});

Deno.test("Queue.succeed() ends the back-off and all memory of a key", async () => {
  using env = setUp();
  const { queue, time } = env;
  queue.add("a");
  for (let failures = 0; failures < 5; failures++) {
    await queue.take(NEVER);
    queue.fail("a");
    assert.equal(queue.failing, 1);
    time.advance(1_000);
  }
  await queue.take(NEVER);
  queue.succeed("a");
  assert.deepEqual([queue.failing, queue.delayed, queue.depth, time.timers], [0, 0, 0, 0]);
  queue.add("a");
  await queue.take(NEVER);
  queue.fail("a");
  time.advance(5);
  assert.equal(queue.depth, 1, "the back-off starts anew");
});

Deno.test("Queue gives a failing key at once when an event adds it", async () => {
  using env = setUp();
  const { queue, time } = env;
  queue.add("a");
  for (let failures = 0; failures < 8; failures++) {
    await takeAll(queue);
    if (failures % 2 === 0) queue.add("a"); // while it is out
    queue.fail("a");
    queue.add("a"); // while it backs off
    assert.equal(queue.depth, 1);
    assert.equal(time.timers, 0);
  }
});

Deno.test("Queue gives a key that keeps failing ten times in 60 s, whatever adds it", async () => {
  using env = setUp();
  const { queue, time } = env;
  const takenAt: number[] = [];
  queue.add("a", { urgent: true });
  const end = time.now() + 600_000;
  while (time.now() < end) {
    for (const key of await takeAll(queue)) {
      takenAt.push(time.now());
      queue.add(key);
      queue.fail(key);
    }
    time.advance(50);
    queue.add("a");
    assert.ok(time.timers <= 1);
  }
  assert.equal(takenAt.length, 100);
  for (const [index, at] of takenAt.entries()) {
    const tenBefore = takenAt[index - 10];
    if (tenBefore !== undefined) assert.ok(at - tenBefore >= 60_000, `${at} - ${tenBefore}`);
  }
  time.advance(60_000);
  queue.add("b");
  assert.deepEqual(await takeAll(queue), ["a", "b"], "a deferred key keeps its urgency");
});

Deno.test("Queue never defers a key that succeeds", async () => {
  using env = setUp();
  const { queue } = env;
  for (let turn = 0; turn < 100; turn++) {
    queue.add("a");
    assert.deepEqual(await takeAll(queue), ["a"]);
    queue.succeed("a");
  }
});

Deno.test("Queue.putBack() lets a key wait again without counting a failure", async () => {
  using env = setUp();
  const { queue, time } = env;
  queue.add("a", { urgent: true });
  queue.add("b");
  await queue.take(NEVER);
  queue.addAfter("a", 100);
  queue.putBack("a");
  assert.deepEqual([queue.failing, queue.depth, time.timers], [0, 2, 0]);
  assert.deepEqual(await takeAll(queue), ["a", "b"], "it is still urgent");
});

Deno.test("Queue counts the turns of a failing key that were broken off", async () => {
  using env = setUp();
  const { queue, time } = env;
  queue.add("a");
  for (let turn = 0; turn < 10; turn++) {
    assert.deepEqual(await takeAll(queue), ["a"]);
    if (turn > 0) queue.putBack("a");
    else queue.fail("a");
    queue.add("a");
  }
  assert.equal(queue.depth, 0);
  time.advance(60_000);
  assert.equal(queue.depth, 1);
});

Deno.test("Queue refuses a key back that it did not give", () => {
  const queue = new Queue();
  queue.add("a");
  for (const handBack of ["succeed", "fail", "putBack"] as const) {
    assert.throws(() => queue[handBack]("a"), /"a": it was not taken/);
  }
});

Deno.test("Queue.shutdown() leaves no timer, no taker and no key", async () => {
  using env = setUp();
  const { queue, time } = env;
  const waiting = queue.take(NEVER);
  for (const key of ["a", "b", "c"]) queue.add(key);
  assert.equal(await waiting, "a");
  assert.equal(await queue.take(NEVER), "b");
  queue.addAfter("d", 100);
  queue.shutdown();
  queue.fail("a");
  queue.succeed("b");
  queue.add("e");
  queue.addAfter("f", 100);
  assert.deepEqual([queue.depth, queue.delayed, queue.failing, time.timers], [0, 0, 0, 0]);
  await assert.rejects(queue.take(NEVER), /shut down/);
});

Deno.test("Queue.shutdown() sends waiting takers away", async () => {
  const queue = new Queue();
  const waiting = assert.rejects(queue.take(NEVER), /shut down/);
  queue.shutdown();
  await waiting;
});

Deno.test("Queue reports what happens, and how long keys wait and are worked on", async () => {
  using env = setUp();
  const { queue, time } = env;
  const reports: unknown[] = [];
  queue.report({
    added: () => reports.push("added"),
    retried: () => reports.push("retried"),
    taken: (ms) => reports.push({ waited: ms }),
    finished: (ms) => reports.push({ worked: ms }),
  });
  queue.add("a");
  queue.add("a");
  time.advance(30);
  await queue.take(NEVER);
  time.advance(20);
  queue.add("b");
  await queue.take(NEVER);
  time.advance(5);
  assert.deepEqual([...queue.workMs()], [25, 5]);
  queue.fail("a");
  queue.succeed("b");
  queue.addAfter("c", 10);
  assert.deepEqual(reports, [
    "added",
    { waited: 30 },
    "added",
    { waited: 0 },
    { worked: 25 },
    "retried",
    { worked: 5 },
    "retried",
  ]);
});

interface Step {
  readonly act: "add" | "addAfter" | "take" | "succeed" | "fail" | "putBack" | "advance";
  readonly key: string;
  readonly urgent: boolean;
  readonly ms: number;
}

const STEPS = fc.array(
  fc.record<Step>({
    act: fc.constantFrom(
      "add",
      "addAfter",
      "take",
      "take",
      "succeed",
      "fail",
      "fail",
      "putBack",
      "advance",
    ),
    key: fc.constantFrom("a", "b", "c"),
    urgent: fc.boolean(),
    ms: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 30_000 })),
  }),
  { maxLength: 200, size: "max" },
);

/** Remembers by simple means what the queue owes, and objects when it gives something else. */
class Witness {
  readonly wanted = new Set<string>();
  readonly out = new Map<string, number>();
  readonly #failedAt = new Map<string, number[]>();

  onTake(key: string, at: number): void {
    assert.ok(!this.out.has(key), `${key} is out twice`);
    assert.ok(this.wanted.delete(key), `nobody asked for ${key}`);
    const tenBefore = this.#failedAt.get(key)?.at(-10);
    assert.ok(tenBefore === undefined || at - tenBefore >= 60_000, `${key} comes too often`);
    this.out.set(key, at);
  }

  onHandBack(act: "succeed" | "fail" | "putBack", key: string): void {
    const before = this.#failedAt.get(key);
    if (act === "succeed") this.#failedAt.delete(key);
    else if (act === "fail" || before) {
      this.#failedAt.set(key, [...before ?? [], this.out.get(key) ?? 0]);
    }
    if (act !== "succeed") this.wanted.add(key);
    this.out.delete(key);
  }
}

Deno.test("Queue gives no key twice at once, none too often, and loses none", async () => {
  await fc.assert(
    fc.asyncProperty(STEPS, async (steps) => {
      using env = setUp();
      const { queue, time } = env;
      const witness = new Witness();
      const take = async () => witness.onTake(await queue.take(NEVER), time.now());
      for (const { act, key, urgent, ms } of steps) {
        if (act === "add" || act === "addAfter") {
          witness.wanted.add(key);
          if (act === "add") queue.add(key, { urgent });
          else queue.addAfter(key, ms, { urgent });
        } else if (act === "advance") time.advance(ms);
        else if (act === "take") queue.depth > 0 && await take();
        else if (witness.out.has(key)) {
          witness.onHandBack(act, key);
          queue[act](key);
        }
      }
      while (witness.out.size + queue.depth + queue.delayed > 0) {
        for (const key of [...witness.out.keys()]) {
          witness.onHandBack("succeed", key);
          queue.succeed(key);
        }
        while (queue.depth > 0) await take();
        time.advance(10_000);
      }
      assert.deepEqual([...witness.wanted], [], "lost");
      assert.deepEqual([queue.failing, time.timers], [0, 0], "remembered for nothing");
    }),
    { numRuns: 500 },
  );
});

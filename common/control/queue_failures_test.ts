import assert from "node:assert/strict";
import { NEVER, takeAll, test, VirtualTime } from "../../tests/support/programs/virtual_queue.ts";
import { Queue } from "./queue.ts";

Deno.test("Queue doubles the back-off of a failing key up to its cap", async () => {
  using time = new VirtualTime();
  const failureLimit = { takes: 1_000, ms: 1 };
  const queue = new Queue({ now: time.now, random: () => 1, failureLimit });
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

Deno.test("Queue waits for a random part of a back-off step, at least half", async () => {
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

test("Queue.succeed() ends the back-off and forgets the key", async ({ queue, time }) => {
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
  assert.equal(queue.depth, 1, "the back-off starts again");
});

test("Queue returns a failing key at once when an event adds it", async ({ queue, time }) => {
  queue.add("a");
  for (let failures = 0; failures < 8; failures++) {
    await takeAll(queue);
    if (failures % 2 === 0) queue.add("a"); // while it is taken
    queue.fail("a");
    queue.add("a"); // while it backs off
    assert.deepEqual([queue.depth, time.timers], [1, 0]);
  }
});

test("Queue returns a key that keeps failing at most ten times in 60 s", async ({ queue, time }) => {
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

test("Queue never defers a key that succeeds", async ({ queue }) => {
  for (let turn = 0; turn < 100; turn++) {
    queue.add("a");
    assert.deepEqual(await takeAll(queue), ["a"]);
    queue.succeed("a");
  }
});

test("Queue.putBack() queues a key again without counting a failure", async ({ queue, time }) => {
  queue.add("a", { urgent: true });
  queue.add("b");
  await queue.take(NEVER);
  queue.addAfter("a", 100);
  queue.putBack("a");
  assert.deepEqual([queue.failing, queue.depth, time.timers], [0, 2, 0]);
  assert.deepEqual(await takeAll(queue), ["a", "b"], "it is still urgent");
});

test("Queue counts the interrupted turns of a failing key", async ({ queue, time }) => {
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

test("Queue does not count passing failures, and retries within eight seconds", async ({ queue, time }) => {
  queue.add("a");
  const pauses: number[] = [];
  for (let failures = 0; failures < 30; failures++) {
    assert.deepEqual(await takeAll(queue), ["a"]);
    const failedAt = time.now();
    queue.fail("a", { passing: true });
    while (queue.depth === 0) time.advance(100);
    pauses.push(time.now() - failedAt);
  }
  assert.deepEqual(pauses.slice(0, 8), [100, 200, 400, 800, 1_600, 3_200, 6_400, 8_000]);
  assert.equal(Math.max(...pauses), 8_000);
  assert.deepEqual(await takeAll(queue), ["a"]);
  queue.succeed("a");
  assert.deepEqual([queue.failing, time.timers], [0, 0]);
});

test("Queue keeps the pause after a passing failure when a key is added", async ({ queue, time }) => {
  queue.add("a");
  let taken = 0;
  for (const end = time.now() + 60_000; time.now() < end; time.advance(10)) {
    queue.add("a", { urgent: true });
    for (const key of await takeAll(queue)) {
      taken++;
      queue.add(key);
      queue.fail(key, { passing: true });
    }
  }
  assert.ok(taken >= 10 && taken <= 15, `${taken} times in a minute`);
});

test("Queue counts lasting failures in spite of passing ones in between", async ({ queue, time }) => {
  const countedAt: number[] = [];
  queue.add("a");
  for (let turn = 0; countedAt.length < 11; turn++) {
    while (queue.depth === 0) time.advance(10);
    const passing = turn % 2 === 0;
    if (!passing || countedAt.length === 10) countedAt.push(time.now());
    assert.deepEqual(await takeAll(queue), ["a"]);
    queue.fail("a", { passing });
    queue.add("a");
  }
  const [first = 0, eleventh = 0] = [countedAt[0], countedAt[10]];
  assert.ok(eleventh - first >= 60_000, `it came again after ${eleventh - first} ms`);
});

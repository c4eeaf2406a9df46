import assert from "node:assert/strict";
import { NEVER, takeAll, test } from "../../tests/support/programs/virtual_queue.ts";
import { Queue } from "./queue.ts";

Deno.test("Queue returns each key once, in the order of arrival", async () => {
  const queue = new Queue();
  for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
  assert.equal(queue.depth, 3);
  assert.deepEqual(await takeAll(queue), ["a", "b", "c"]);
});

Deno.test("Queue returns urgent keys first, in the order of arrival", async () => {
  const queue = new Queue();
  for (const key of ["a", "b", "c"]) queue.add(key);
  queue.add("d", { urgent: true });
  queue.add("b", { urgent: true });
  queue.add("d");
  assert.deepEqual(await takeAll(queue), ["d", "b", "a", "c"]);
});

Deno.test("Queue returns a key again only if it was added while taken", async () => {
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

Deno.test("Queue keeps the urgency of a key that is added while taken", async () => {
  const queue = new Queue();
  queue.add("a");
  await queue.take(NEVER);
  queue.add("a", { urgent: true });
  queue.add("b");
  queue.succeed("a");
  assert.deepEqual(await takeAll(queue), ["a", "b"]);
});

Deno.test("Queue serves waiting takers in their order", async () => {
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

test("Queue.addAfter() waits; the earliest time wins", async ({ queue, time }) => {
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

test("Queue.add() replaces a scheduled key", async ({ queue, time }) => {
  queue.addAfter("a", 500, { urgent: true });
  queue.add("b");
  queue.add("a");
  assert.equal(time.timers, 0);
  queue.addAfter("a", 500);
  assert.equal(time.timers, 0, "a key that waits needs no timer");
  assert.deepEqual(await takeAll(queue), ["a", "b"], "the urgency stays");
});

test("Queue.addAfter() adds at once after 0 ms, and can wait longer than a timer", async ({ queue, time }) => {
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

Deno.test("Queue refuses the return of a key that was not taken", () => {
  const queue = new Queue();
  queue.add("a");
  for (const handBack of ["succeed", "fail", "putBack"] as const) {
    assert.throws(() => queue[handBack]("a"), /"a": it was not taken/);
  }
});

test("Queue.shutdown() leaves no timer, no taker and no key", async ({ queue, time }) => {
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

Deno.test("Queue.shutdown() rejects waiting takers", async () => {
  const queue = new Queue();
  const waiting = assert.rejects(queue.take(NEVER), /shut down/);
  queue.shutdown();
  await waiting;
});

test("Queue reports adds, retries, and how long keys wait and are worked on", async ({ queue, time }) => {
  const reports: unknown[] = [];
  queue.report({
    added: () => reports.push("added"),
    retried: () => reports.push("retried"),
    taken: (ms) => reports.push(`waited ${ms}`),
    finished: (ms) => reports.push(`worked ${ms}`),
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
    ...["added", "waited 30", "added", "waited 0"],
    ...["worked 25", "retried", "worked 5", "retried"],
  ]);
});

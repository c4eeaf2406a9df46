import assert from "node:assert/strict";
import { type Load, type Polled, Poller } from "./poller.ts";

/** A poller whose clock, visibility and readings are in the hands of the test. */
function world(load: Load<string>) {
  const told: Polled<string>[] = [];
  const state = { nowMs: 1_000, isVisible: true, timers: new Set<() => void>() };
  const poller = new Poller(load, 15_000, (polled) => told.push(polled), {
    nowMs: () => state.nowMs,
    isVisible: () => state.isVisible,
    after: (_ms, run) => {
      state.timers.add(run);
      return () => state.timers.delete(run);
    },
  });
  const pass = (ms: number) => {
    state.nowMs += ms;
    const due = [...state.timers];
    state.timers.clear();
    due.forEach((run) => run());
  };
  return { poller, told, state, pass };
}
const settled = () => new Promise((resolve) => setTimeout(resolve));

Deno.test("Poller reads every interval, and tells only what is new", async () => {
  const answers = [{ data: "a", etag: "1" }, undefined, {
    data: "b",
    etag: "2",
  }];
  const known: (string | undefined)[] = [];
  const { poller, told, pass } = world((etag) => {
    known.push(etag);
    return Promise.resolve(answers.shift());
  });
  await poller.refresh();
  pass(15_000);
  await settled();
  pass(15_000);
  await settled();
  assert.deepEqual(known, [undefined, "1", "1"]);
  assert.deepEqual(told.map(({ data }) => data), ["a", "b"]);
});

Deno.test("Poller keeps what it has when a reading fails, and says since when", async () => {
  let fails = false;
  const { poller, told, pass } = world(() =>
    fails ? Promise.reject(new Error("down")) : Promise.resolve({ data: "a", etag: "1" })
  );
  await poller.refresh();
  fails = true;
  pass(15_000);
  await settled();
  assert.deepEqual(told.at(-1), {
    data: "a",
    error: "down",
    currentAtMs: 1_000,
  });
  fails = false;
  await poller.refresh();
  assert.deepEqual(told.at(-1), {
    data: "a",
    error: undefined,
    currentAtMs: 16_000,
  });
});

Deno.test("Poller reads nothing while nobody looks, and catches up when somebody does", async () => {
  let readings = 0;
  const { poller, state, pass } = world(() => {
    readings++;
    return Promise.resolve({ data: "a", etag: "1" });
  });
  await poller.refresh();
  state.isVisible = false;
  pass(60_000);
  poller.look();
  assert.equal(readings, 1);
  state.isVisible = true;
  poller.look();
  await settled();
  assert.equal(readings, 2);
  poller.look();
  assert.equal(readings, 2, "it was just read");
});

Deno.test("Poller tells nothing of a reading that was stopped", async () => {
  const { promise, resolve } = Promise.withResolvers<
    { data: string; etag: string }
  >();
  const { poller, told, state } = world(() => promise);
  const reading = poller.refresh();
  poller.stop();
  resolve({ data: "late", etag: "1" });
  await reading;
  assert.deepEqual(told, []);
  assert.equal(state.timers.size, 0);
});

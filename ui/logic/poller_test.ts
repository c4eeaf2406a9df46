import assert from "node:assert/strict";
import { type Load, type Polled, Poller } from "./poller.ts";

/** Makes a poller whose clock, visibility and reads the test controls. */
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
const ANSWER = { data: "a", etag: "1" };

Deno.test("Poller reads at every interval, and reports only changes", async () => {
  const answers = [ANSWER, undefined, { data: "b", etag: "2" }];
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

Deno.test("Poller keeps its data when a read fails, and says how old the data is", async () => {
  let fails = false;
  const { poller, told, pass } = world(() =>
    fails ? Promise.reject(new Error("down")) : Promise.resolve(ANSWER)
  );
  await poller.refresh();
  fails = true;
  pass(15_000);
  await settled();
  assert.deepEqual(told.at(-1), { data: "a", error: "down", currentAtMs: 1_000 });
  fails = false;
  await poller.refresh();
  assert.deepEqual(told.at(-1), { data: "a", error: undefined, currentAtMs: 16_000 });
});

Deno.test("Poller does not read while the page is hidden, and catches up afterwards", async () => {
  let readings = 0;
  const { poller, state, pass } = world(() => {
    readings++;
    return Promise.resolve(ANSWER);
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

Deno.test("Poller reads at every interval even if the clock is set back", async () => {
  let readings = 0;
  const { poller, state, pass } = world(() => {
    readings++;
    return Promise.resolve(ANSWER);
  });
  await poller.refresh();
  state.nowMs -= 60_000;
  pass(15_000);
  await settled();
  assert.equal(readings, 2);
  pass(15_000);
  await settled();
  assert.equal(readings, 3);
});

Deno.test("Poller reports nothing from a stopped read", async () => {
  const { promise, resolve } = Promise.withResolvers<typeof ANSWER>();
  const { poller, told, state } = world(() => promise);
  const reading = poller.refresh();
  poller.stop();
  resolve(ANSWER);
  await reading;
  assert.deepEqual(told, []);
  assert.equal(state.timers.size, 0);
});

import assert from "node:assert/strict";
import { type Clocks, Memo, sameIfEqual } from "./memo.ts";

/** Makes clocks that only the test advances. */
const testClocks = () => {
  const clocks = { nowMs: 1_000_000, wallMs: () => clocks.nowMs, steadyMs: () => clocks.nowMs };
  return clocks satisfies Clocks;
};

const counter = (memo: Memo<number>) => {
  let builds = 0;
  return (version: readonly unknown[], validUntilMs?: number) =>
    memo.get(version, () => ({
      value: ++builds,
      ...(validUntilMs === undefined ? {} : { validUntilMs }),
    }));
};

Deno.test("Memo builds once per version", () => {
  const clocks = testClocks();
  const get = counter(new Memo(clocks));
  assert.deepEqual([get(["a", 1]), get(["a", 1])], [1, 1]);
  clocks.nowMs += 3_600_000;
  assert.equal(get(["a", 1]), 1);
  assert.equal(get(["a", 2]), 2);
  clocks.nowMs += 100;
  assert.equal(get(["a", 2, undefined]), 3);
  clocks.nowMs += 100;
  assert.equal(get(["a"]), 4);
});

Deno.test("Memo builds at most every 100 ms however often its sources change", () => {
  const clocks = testClocks();
  const get = counter(new Memo(clocks));
  const seen = new Set<number>();
  for (let ms = 0; ms < 1_000; ms++) {
    seen.add(get([ms]));
    clocks.nowMs++;
  }
  assert.equal(seen.size, 10);
});

Deno.test("Memo shows the last change after at most 100 ms", () => {
  const clocks = testClocks();
  const get = counter(new Memo(clocks));
  assert.equal(get(["a"]), 1);
  clocks.nowMs += 99;
  assert.equal(get(["b"]), 1);
  clocks.nowMs += 1;
  assert.equal(get(["b"]), 2);
});

Deno.test("Memo builds expensive values less often, and is at most a second behind", async (t) => {
  for (const [costMs, intervalMs] of [[10, 100], [60, 300], [180, 900], [900, 1_000]] as const) {
    await t.step(`${costMs} ms each`, () => {
      const clocks = testClocks();
      const memo = new Memo<number>(clocks);
      const start = clocks.nowMs;
      const build = () => {
        const value = clocks.nowMs;
        clocks.nowMs += costMs;
        return { value };
      };
      memo.get([1], build);
      clocks.nowMs = start + intervalMs - 1;
      assert.equal(memo.get([2], build), start);
      clocks.nowMs = start + intervalMs;
      assert.equal(memo.get([2], build), start + intervalMs);
    });
  }
});

Deno.test("Memo rebuilds a value that has expired", () => {
  const clocks = testClocks();
  const get = counter(new Memo(clocks));
  const end = clocks.nowMs + 5_000;
  assert.equal(get([], end), 1);
  clocks.nowMs = end;
  assert.equal(get([], end), 1);
  clocks.nowMs = end + 1;
  assert.equal(get([]), 2);
  clocks.nowMs += 1e9;
  assert.equal(get([]), 2);
});

Deno.test("Memo rebuilds when the clock was set back", () => {
  const clocks = { wall: 1_000_000, steady: 0 };
  const memo = new Memo<number>({ wallMs: () => clocks.wall, steadyMs: () => clocks.steady });
  const get = counter(memo);
  assert.equal(get([]), 1);
  clocks.wall -= 3_600_000;
  clocks.steady += 200;
  assert.equal(get([]), 2);
});

Deno.test("Memo stores nothing from a build that throws", () => {
  const memo = new Memo<number>(testClocks());
  assert.throws(() =>
    memo.get([], () => {
      throw new Error("broken");
    }), /broken/);
  assert.equal(memo.get([], () => ({ value: 1 })), 1);
});

Deno.test("sameIfEqual() returns the earlier map as long as its content is equal", () => {
  const first = new Map([["u", "ada"]]);
  assert.equal(sameIfEqual(first, new Map(first)), first);
  const others: [string, string][][] = [[["u", "bob"]], [["v", "ada"]], [], [["u", "ada"], [
    "v",
    "y",
  ]]];
  for (const other of others) {
    const now = new Map(other);
    assert.equal(sameIfEqual(first, now), now);
    assert.equal(sameIfEqual(now, first), first);
  }
});

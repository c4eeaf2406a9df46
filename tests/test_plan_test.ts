import assert from "node:assert/strict";
import type { Tally } from "./tally.ts";
import { filesOfShard, parseTestPlan, runStages, type Stage } from "./test_plan.ts";

Deno.test("parseTestPlan() tells mode, shard and options of deno test apart", async (t) => {
  const cases: [args: string[], plan: ReturnType<typeof parseTestPlan>][] = [
    [[], { mode: "all", options: [] }],
    [["--filter=reaper"], { mode: "all", options: ["--filter=reaper"] }],
    [["unit", "--", "--filter=x"], { mode: "unit", options: ["--filter=x"] }],
    [["e2e", "--shard=1/4"], { mode: "e2e", shard: { number: 1, count: 4 }, options: [] }],
    [["soak", "--", "--shard=4/4", "--fail-fast"], {
      mode: "soak",
      shard: { number: 4, count: 4 },
      options: ["--fail-fast"],
    }],
  ];
  for (const [args, plan] of cases) {
    await t.step(args.join(" ") || "no arguments", () => {
      assert.deepEqual(parseTestPlan(args), plan);
    });
  }
});

Deno.test("parseTestPlan() refuses shards that do not exist", async (t) => {
  for (const shard of ["0/4", "5/4", "1", "1/0", "a/b", "1/4x", "-1/4"]) {
    await t.step(shard, () => {
      assert.throws(() => parseTestPlan(["e2e", `--shard=${shard}`]), /not N\/COUNT/);
    });
  }
  await t.step("without a value", () => {
    assert.throws(() => parseTestPlan(["e2e", "--shard", "1/4"]), /not N\/COUNT/);
  });
  await t.step("of unit tests", () => {
    assert.throws(() => parseTestPlan(["ok", "--shard=1/4"]), /only e2e and soak/);
  });
});

Deno.test("filesOfShard() puts every file into exactly one shard, of about equal size", () => {
  const files = Array.from({ length: 103 }, (_, i) => `tests/e2e/${i % 7}/${i}_test.ts`);
  for (const count of [1, 2, 3, 4, 10, 103, 200]) {
    const numbers = Array.from({ length: count }, (_, i) => i + 1);
    const shards = numbers.map((number) => filesOfShard(files, { number, count }));
    assert.deepEqual(shards.flat().sort(), files.toSorted());
    const sizes = shards.map(({ length }) => length);
    assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1, sizes.join());
  }
});

Deno.test("filesOfShard() does not depend on the order in which files are listed", () => {
  const shard = { number: 2, count: 3 };
  const files = ["d", "b", "a", "c", "e"];
  assert.deepEqual(filesOfShard(files, shard), ["b", "e"]);
  assert.deepEqual(filesOfShard(files.toReversed(), shard), ["b", "e"]);
});

Deno.test("runStages() stops after a failed gate, and only there", async (t) => {
  const green = { passed: 2, failed: 0, skipped: 1 };
  const red = { passed: 1, failed: 1, skipped: 0 };
  const stage = (tally: Tally, isGate = false): Stage => ({
    isGate,
    run: () => Promise.resolve(tally),
  });
  const cases: [string, Stage[], Tally][] = [
    ["a green gate", [stage(green, true), stage(red)], { passed: 3, failed: 1, skipped: 1 }],
    ["a red gate", [stage(red, true), stage(green)], red],
    ["red tests", [stage(red), stage(green)], { passed: 3, failed: 1, skipped: 1 }],
  ];
  for (const [name, stages, total] of cases) {
    await t.step(name, async () => assert.deepEqual(await runStages(stages), total));
  }
});

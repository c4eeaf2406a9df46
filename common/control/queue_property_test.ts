import assert from "node:assert/strict";
import fc from "fast-check";
import { NEVER, virtualQueue } from "../../tests/support/programs/virtual_queue.ts";

interface Step {
  readonly act: "add" | "addAfter" | "take" | "succeed" | "fail" | "putBack" | "advance";
  readonly key: string;
  readonly urgent: boolean;
  readonly passing: boolean;
  readonly ms: number;
}

const STEPS = fc.array(
  fc.record<Step>({
    act: fc.constantFrom<Step["act"][]>(
      ...["add", "addAfter", "advance", "take", "take"] as const,
      ...["succeed", "fail", "fail", "putBack"] as const,
    ),
    key: fc.constantFrom("a", "b", "c"),
    urgent: fc.boolean(),
    passing: fc.boolean(),
    ms: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 30_000 })),
  }),
  { maxLength: 200, size: "max" },
);

/** Models the queue in a simple way, and fails if the queue returns something else. */
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

  onHandBack(act: "succeed" | "fail" | "putBack", key: string, passing = false): void {
    const before = this.#failedAt.get(key);
    if (act === "succeed") this.#failedAt.delete(key);
    else if (act === "fail" ? !passing : before) {
      this.#failedAt.set(key, [...before ?? [], this.out.get(key) ?? 0]);
    }
    if (act !== "succeed") this.wanted.add(key);
    this.out.delete(key);
  }
}

Deno.test("Queue never returns a key twice at once or too often, and never loses one", async () => {
  await fc.assert(
    fc.asyncProperty(STEPS, async (steps) => {
      using env = virtualQueue();
      const { queue, time } = env;
      const witness = new Witness();
      const take = async () => witness.onTake(await queue.take(NEVER), time.now());
      for (const { act, key, urgent, passing, ms } of steps) {
        if (act === "add" || act === "addAfter") {
          witness.wanted.add(key);
          if (act === "add") queue.add(key, { urgent });
          else queue.addAfter(key, ms, { urgent });
        } else if (act === "advance") time.advance(ms);
        else if (act === "take") queue.depth > 0 && await take();
        else if (witness.out.has(key)) {
          witness.onHandBack(act, key, passing);
          if (act === "fail") queue.fail(key, { passing });
          else queue[act](key);
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

import assert from "node:assert/strict";
import fc from "fast-check";
import { type SlotBounds, Slots } from "./slots.ts";

const KEYS = ["a", "b", "c", "d"];

interface Step {
  readonly act: "enter" | "leave" | "giveUp";
  readonly key: string;
  /** Picks one of the visitors that can do it. */
  readonly nth: number;
}

const STEPS = fc.array(
  fc.record<Step>({
    act: fc.constantFrom("enter", "enter", "enter", "leave", "giveUp"),
    key: fc.constantFrom(...KEYS),
    nth: fc.nat(100),
  }),
  { maxLength: 150, size: "max" },
);

type Limits = Omit<SlotBounds, "refusal"> & { readonly atOnce: number };

const LIMITS = fc.record<Limits>({
  total: fc.integer({ min: 1, max: 20 }),
  atOnce: fc.integer({ min: 1, max: 6 }),
  waiting: fc.integer({ min: 0, max: 12 }),
});

interface Visitor {
  readonly key: string;
  readonly gone: AbortController;
  state: "waits" | "runs" | "refused" | "gone" | "left";
  place?: Disposable;
}

/** Models Slots in a simple way, and compares them with the slots that visitors got. */
class Witness {
  readonly slots: Slots;
  readonly #limits: Limits;
  readonly #visitors: Visitor[] = [];
  #overtakings = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
    this.slots = new Slots(limits.atOnce, { ...limits, refusal: (why) => new Error(why) });
  }

  in(...states: Visitor["state"][]): Visitor[] {
    return this.#visitors.filter(({ state }) => states.includes(state));
  }

  count(key: string, ...states: Visitor["state"][]): number {
    return this.in(...states).filter((each) => each.key === key).length;
  }

  async enter(key: string): Promise<void> {
    const sizes = new Map(KEYS.map((each) => [each, this.count(each, "runs", "waits")]));
    const waiting = new Set(KEYS.filter((each) => this.count(each, "waits") > 0));
    const isLineFull = this.count(key, "waits") >= this.#limits.waiting;
    const visitor: Visitor = { key, gone: new AbortController(), state: "waits" };
    this.#visitors.push(visitor);
    this.slots.enter(key, visitor.gone.signal).then(
      (place) => {
        Object.assign(visitor, { state: "runs", place });
        const earlier = this.#visitors.slice(0, this.#visitors.indexOf(visitor));
        if (earlier.some((each) => each.key === key && each.state === "waits")) this.#overtakings++;
      },
      () => visitor.state = visitor.gone.signal.aborted ? "gone" : "refused",
    );
    await settle();
    if (visitor.state !== "refused") return;
    const own = sizes.get(key) ?? 0;
    if (own > 0 && isLineFull) return;
    assert.equal(this.slots.taken, this.#limits.total, `${key} is refused for nothing`);
    for (const other of waiting) {
      assert.ok((sizes.get(other) ?? 0) <= own + 1, `${other} has more than ${key}, and waits`);
    }
  }

  async leave(visitor: Visitor | undefined): Promise<void> {
    if (!visitor) return;
    visitor.state = "left";
    visitor.place?.[Symbol.dispose]();
    await settle();
  }

  async giveUp(visitor: Visitor | undefined): Promise<void> {
    visitor?.gone.abort();
    await settle();
  }

  check(): void {
    const { total, atOnce, waiting } = this.#limits;
    const held = this.in("runs", "waits");
    assert.equal(this.slots.taken, held.length, "counted");
    assert.ok(held.length <= total, "too many");
    assert.equal(this.slots.keys, new Set(held.map(({ key }) => key)).size, "keys");
    assert.equal(this.#overtakings, 0, "out of order");
    for (const key of KEYS) {
      const [runs, waits] = [this.count(key, "runs"), this.count(key, "waits")];
      assert.ok(runs <= atOnce && waits <= waiting, "too many of one key");
      assert.ok(runs > 0 || waits === 0, "waits for nobody");
    }
  }
}

/** Lets every promise settle. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
};

Deno.test("Slots keeps its bounds, the order and each key's share, and loses no place", async () => {
  await fc.assert(
    fc.asyncProperty(LIMITS, STEPS, async (limits, steps) => {
      const witness = new Witness(limits);
      for (const { act, key, nth } of steps) {
        const able = witness.in(act === "leave" ? "runs" : "waits");
        if (act === "enter") await witness.enter(key);
        else await witness[act](able[nth % able.length]);
        witness.check();
      }
      for (let runs = witness.in("runs"); runs.length > 0; runs = witness.in("runs")) {
        for (const visitor of runs) await witness.leave(visitor);
      }
      assert.deepEqual(witness.in("waits"), [], "forgotten");
      witness.check();
    }),
    { numRuns: 500 },
  );
});

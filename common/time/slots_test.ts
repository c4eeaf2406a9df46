import assert from "node:assert/strict";
import { setImmediate as settled } from "node:timers/promises";
import { forEachAtOnce, type SlotRefusal, Slots } from "./slots.ts";

const never = new AbortController().signal;

class Refused extends Error {
  constructor(readonly why: SlotRefusal) {
    super(why);
  }
}

const bounded = (total: number, atOnce: number, waiting: number): Slots =>
  new Slots(atOnce, { total, waiting, refusal: (why) => new Refused(why) });

/** Asks for a slot, and records the result. */
class Visitor {
  slot: Disposable | undefined;
  error: unknown;
  readonly #gone = new AbortController();

  constructor(slots: Slots, key: string) {
    slots.enter(key, this.#gone.signal).then(
      (slot) => this.slot = slot,
      (error) => this.error = error,
    );
  }

  leave(): void {
    this.slot?.[Symbol.dispose]();
  }

  giveUp(): void {
    this.#gone.abort("gone");
  }

  get state(): string {
    if (this.error instanceof Refused) return `refused: ${this.error.why}`;
    if (this.error) return String(this.error);
    return this.slot ? "runs" : "waits";
  }
}

const visit = (slots: Slots, key: string, times: number): Visitor[] =>
  Array.from({ length: times }, () => new Visitor(slots, key));

async function states(...visitors: readonly (Visitor | undefined)[]): Promise<string[]> {
  await settled();
  return visitors.map((visitor) => visitor?.state ?? "");
}

Deno.test("Slots runs a limited number of one key at once, and any number wait in order", async () => {
  const slots = new Slots(2);
  const visitors = visit(slots, "a", 2_000);
  for (const [first, visitor] of visitors.slice(0, 5).entries()) {
    const next = visitors.slice(first, first + 4);
    assert.deepEqual(await states(...next), ["runs", "runs", "waits", "waits"]);
    visitor.leave();
    visitor.leave(); // has no effect
  }
});

Deno.test("Slots runs each key independently of the others", async () => {
  for (const slots of [new Slots(1), bounded(100, 1, 50)]) {
    visit(slots, "a", 50);
    assert.deepEqual(await states(...visit(slots, "b", 2)), ["runs", "waits"]);
  }
});

Deno.test("Slots gives the place of an aborted waiter to the next", async () => {
  for (const slots of [new Slots(1), bounded(100, 1, 2)]) {
    const [first, second, third] = visit(slots, "a", 3);
    second?.giveUp();
    assert.deepEqual(await states(second), ["gone"]);
    assert.equal(slots.taken, 2);
    const [fourth] = visit(slots, "a", 1);
    first?.leave();
    assert.deepEqual(await states(third, fourth), ["runs", "waits"]);
    second?.giveUp();
    third?.giveUp(); // it runs already, so it keeps its slot
    assert.deepEqual(await states(third, fourth), ["runs", "waits"]);
    third?.leave();
    assert.deepEqual(await states(fourth), ["runs"]);
  }
});

Deno.test("Slots does not count a caller whose signal has aborted already", async () => {
  for (const slots of [new Slots(1), bounded(1, 1, 0)]) {
    await assert.rejects(slots.enter("a", AbortSignal.abort("gone")), (error) => error === "gone");
    assert.equal(slots.taken, 0);
    (await slots.enter("a", never))[Symbol.dispose]();
  }
});

Deno.test("Slots forgets a key that neither runs nor waits", async () => {
  const slots = new Slots(1);
  const visitors = ["a", "b"].flatMap((key) => visit(slots, key, 2));
  await settled();
  assert.equal(slots.keys, 2);
  for (let round = 0; round < 2; round++) {
    for (const visitor of visitors) visitor.leave();
    await settled();
  }
  assert.deepEqual([slots.keys, slots.taken], [0, 0]);
});

Deno.test("Slots with bounds refuses a key that has reached its limit", async () => {
  const slots = bounded(100, 2, 2);
  const visitors = visit(slots, "a", 5);
  const expected = ["runs", "runs", "waits", "waits", "refused: key"];
  assert.deepEqual(await states(...visitors), expected);
  visitors[1]?.leave();
  assert.deepEqual((await states(...visitors)).slice(2), ["runs", "waits", "refused: key"]);
  visitors[2]?.leave();
  assert.deepEqual((await states(...visitors)).slice(3), ["runs", "refused: key"]);
  assert.equal(slots.taken, 2);
});

Deno.test("Slots with bounds gives a newcomer the place of the largest key's last waiter", async () => {
  const slots = bounded(10, 1, 9);
  const large = visit(slots, "large", 7);
  visit(slots, "small", 3);
  const newcomers = visit(slots, "new", 4);
  assert.deepEqual(await states(...newcomers), ["runs", "waits", "waits", "refused: all"]);
  assert.deepEqual(await states(...large), [
    "runs",
    ...Array(3).fill("waits"),
    ...Array(3).fill("refused: all"),
  ]);
  assert.equal(slots.taken, 10);
});

Deno.test("Slots with bounds never takes back a slot in use, and leaves some for other keys", async () => {
  const slots = bounded(6, 6, 0);
  const first = await states(...visit(slots, "a", 6));
  assert.equal(first.filter((state) => state === "runs").length, 3);
  visit(slots, "b", 6);
  const [newcomer] = visit(slots, "c", 1);
  const [late] = visit(slots, "d", 1);
  assert.deepEqual(await states(newcomer, late), ["runs", "refused: all"]);
});

Deno.test("Slots.tryEnter() takes a free slot, and never waits", async () => {
  for (const slots of [new Slots(2), bounded(4, 2, 1)]) {
    const first = slots.tryEnter("a");
    const second = slots.tryEnter("a");
    assert.ok(first && second);
    assert.equal(slots.tryEnter("a"), undefined);
    const waiter = new Visitor(slots, "a");
    await settled();
    assert.equal(waiter.state, "waits");
    const other = slots.tryEnter("b");
    assert.ok(other, "another key has slots of its own");
    first[Symbol.dispose]();
    await settled();
    assert.equal(waiter.state, "runs");
    assert.equal(slots.tryEnter("a"), undefined, "the waiter came first");
    for (const slot of [second, other]) slot[Symbol.dispose]();
    waiter.leave();
    assert.deepEqual([slots.taken, slots.keys], [0, 0]);
  }
});

Deno.test("Slots.tryEnter() does not take the place of a waiter", async () => {
  const slots = bounded(3, 1, 2);
  const largest = ["a", "a", "a"].map((key) => new Visitor(slots, key));
  await settled();
  assert.equal(slots.tryEnter("b"), undefined);
  assert.deepEqual(largest.map(({ state }) => state), ["runs", "waits", "waits"]);
});

Deno.test("forEachAtOnce() runs every item, in order, a limited number at a time", async () => {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const all = forEachAtOnce([1, 2, 3, 4, 5], 2, (item) => {
    begun.push(item);
    return new Promise((resolve) => ends.push(resolve));
  });
  for (let ended = 0; ended < 5; ended++) {
    await settled();
    assert.deepEqual(begun, [1, 2, 3, 4, 5].slice(0, ended + 2));
    ends[ended]?.();
  }
  await all;
});

Deno.test("forEachAtOnce() ends without items, and with more slots than items", async () => {
  const seen: string[] = [];
  const see = (item: string) => Promise.resolve(void seen.push(item));
  await forEachAtOnce([], 8, see);
  await forEachAtOnce(new Set(["a", "b"]), 8, see);
  assert.deepEqual(seen, ["a", "b"]);
});

Deno.test("forEachAtOnce() starts nothing after a failure, and throws when all have ended", async () => {
  const slow = Promise.withResolvers<void>();
  const events: string[] = [];
  const run = async (item: string) => {
    events.push(`begins ${item}`);
    if (item !== "slow") throw new Error(item);
    await slow.promise;
    events.push("slow ends");
    throw new Error("too late to be told");
  };
  const all = forEachAtOnce(["slow", "first", "next"], 2, run)
    .catch((error) => events.push(`throws ${error.message}`));
  await settled();
  assert.deepEqual(events, ["begins slow", "begins first"]);
  slow.resolve();
  await all;
  assert.deepEqual(events.slice(2), ["slow ends", "throws first"]);
});

import assert from "node:assert/strict";
import { FairSlots, type SlotRefusal } from "./fair_slots.ts";

const never = new AbortController().signal;

class Refused extends Error {
  constructor(readonly why: SlotRefusal) {
    super(why);
  }
}

const slotsOf = (total: number, running: number, waiting: number): FairSlots =>
  new FairSlots({ total, running, waiting, refusal: (why) => new Refused(why) });

const refusedFor = (why: SlotRefusal) => (error: unknown): boolean =>
  error instanceof Refused && error.why === why;

/** Somebody who asks for a place, and what came of it so far. */
class Visitor {
  place: Disposable | undefined;
  error: unknown;
  readonly #gone = new AbortController();

  constructor(slots: FairSlots, key: string) {
    slots.enter(key, this.#gone.signal).then(
      (place) => this.place = place,
      (error) => this.error = error,
    );
  }

  leave(): void {
    this.place?.[Symbol.dispose]();
  }

  giveUp(): void {
    this.#gone.abort(new Error("gone"));
  }

  get state(): string {
    if (this.error) return this.error instanceof Refused ? "refused" : "gone";
    return this.place ? "runs" : "waits";
  }
}

const visit = (slots: FairSlots, key: string, times: number): Visitor[] =>
  Array.from({ length: times }, () => new Visitor(slots, key));

/** What became of them, once everybody has heard of it. */
async function states(visitors: readonly Visitor[]): Promise<string[]> {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  return visitors.map(({ state }) => state);
}

Deno.test("FairSlots lets a few of one key run, the next wait in order, and refuses more", async () => {
  const slots = slotsOf(100, 2, 2);
  const [first, second, third, fourth, fifth] = visit(slots, "a", 5);
  const all = [first, second, third, fourth, fifth] as Visitor[];
  assert.deepEqual(await states(all), ["runs", "runs", "waits", "waits", "refused"]);
  assert.ok(refusedFor("key")(fifth?.error));
  second?.leave();
  assert.deepEqual((await states(all)).slice(2, 4), ["runs", "waits"]);
  third?.leave();
  third?.leave(); // once is enough
  assert.deepEqual((await states(all)).slice(3, 4), ["runs"]);
  assert.equal(slots.taken, 2);
});

Deno.test("FairSlots lets other keys run at once, however many of one wait", async () => {
  const slots = slotsOf(100, 2, 50);
  visit(slots, "a", 60);
  assert.deepEqual(await states(visit(slots, "b", 2)), ["runs", "runs"]);
});

Deno.test("FairSlots gives the place of who gave up to the next", async () => {
  const slots = slotsOf(100, 1, 2);
  const [first, second, third] = visit(slots, "a", 3);
  second?.giveUp();
  assert.deepEqual(await states([second as Visitor]), ["gone"]);
  assert.equal(slots.taken, 2);
  const [fourth] = visit(slots, "a", 1);
  first?.leave();
  assert.deepEqual(await states([third, fourth] as Visitor[]), ["runs", "waits"]);
  second?.giveUp();
  third?.giveUp(); // it runs: that is its own affair
  assert.deepEqual(await states([third, fourth] as Visitor[]), ["runs", "waits"]);
});

Deno.test("FairSlots counts nobody whose signal has aborted before", async () => {
  const slots = slotsOf(1, 1, 0);
  await assert.rejects(slots.enter("a", AbortSignal.abort("gone")), (error) => error === "gone");
  assert.equal(slots.taken, 0);
});

Deno.test("FairSlots makes room for a newcomer at the expense of the largest key's last", async () => {
  const slots = slotsOf(10, 1, 9);
  const large = visit(slots, "large", 7);
  visit(slots, "small", 3);
  const newcomers = visit(slots, "new", 4);
  assert.deepEqual(await states(newcomers), ["runs", "waits", "waits", "refused"]);
  assert.deepEqual(await states(large), [
    "runs",
    ...Array(3).fill("waits"),
    ...Array(3).fill("refused"),
  ]);
  assert.ok(refusedFor("all")(large[6]?.error));
  assert.equal(slots.taken, 10);
});

Deno.test("FairSlots takes back no place in use, and leaves some for other keys", async () => {
  const slots = slotsOf(6, 6, 0);
  const first = visit(slots, "a", 6);
  assert.equal((await states(first)).filter((state) => state === "runs").length, 3);
  visit(slots, "b", 6);
  const [newcomer] = visit(slots, "c", 1);
  const [late] = visit(slots, "d", 1);
  assert.deepEqual(await states([newcomer, late] as Visitor[]), ["runs", "refused"]);
});

Deno.test("FairSlots forgets a key that has no place", async () => {
  const slots = slotsOf(10, 1, 1);
  const visitors = ["a", "b"].flatMap((key) => visit(slots, key, 2));
  await states(visitors);
  assert.equal(slots.keys, 2);
  for (let round = 0; round < 2; round++) {
    for (const visitor of visitors) visitor.leave();
    await states(visitors);
  }
  assert.deepEqual([slots.keys, slots.taken], [0, 0]);
  await slots.enter("a", never);
});

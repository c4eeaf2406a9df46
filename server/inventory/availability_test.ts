import assert from "node:assert/strict";
import { XbindError } from "../../common/errors.ts";
import {
  ageSeconds,
  availability,
  type AwaitableCache,
  viewAge,
  whenAvailable,
} from "./availability.ts";

const cache = (brokenForMs?: number, hasSynced = true): AwaitableCache => ({
  hasSynced,
  brokenForMs: () => brokenForMs,
  whenSynced: (signal) =>
    hasSynced ? Promise.resolve() : new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    }),
});

Deno.test("viewAge() is the age of the cache that was disconnected first", () => {
  assert.equal(viewAge([]), "current");
  assert.equal(viewAge([cache(), cache()]), "current");
  assert.deepEqual(viewAge([cache(), cache(0)]), { brokenForMs: 0 });
  assert.deepEqual(viewAge([cache(20), cache(), cache(300)]), { brokenForMs: 300 });
});

Deno.test("ageSeconds() counts whole seconds of an outage", () => {
  assert.equal(ageSeconds("current"), undefined);
  assert.equal(ageSeconds({ brokenForMs: 0 }), 0);
  assert.equal(ageSeconds({ brokenForMs: 1_999 }), 1);
});

Deno.test("availability() follows the outage rule", async (t) => {
  const cases: [string, AwaitableCache[], ReturnType<typeof availability>][] = [
    ["all stand", [cache(), cache()], { kind: "shown", age: "current" }],
    ["cut off", [cache(), cache(15_000)], { kind: "shown", age: { brokenForMs: 15_000 } }],
    ["cut off too long", [cache(15_001), cache()], { kind: "broken", brokenForMs: 15_001 }],
    ["no first list", [cache(), cache(undefined, false)], { kind: "unsynced" }],
    ["no first list in an outage", [cache(20_000), cache(20_000, false)], { kind: "unsynced" }],
  ];
  for (const [name, caches, expected] of cases) {
    await t.step(name, () => assert.deepEqual(availability(caches), expected));
  }
});

const isProviderFailure = (error: unknown) =>
  error instanceof XbindError && error.code === "PROVIDER_FAILED" &&
  error.message.startsWith("Cannot list the catalog: ");

Deno.test("whenAvailable() returns the age of the view", async () => {
  assert.equal(await whenAvailable("list the catalog", [cache()]), "current");
  const age = await whenAvailable("list the catalog", [cache(), cache(4_000)]);
  assert.deepEqual(age, { brokenForMs: 4_000 });
});

Deno.test("whenAvailable() fails after a long outage, and without first lists", async () => {
  await assert.rejects(whenAvailable("list the catalog", [cache(15_001)]), isProviderFailure);
  const unsynced = [cache(), cache(undefined, false)];
  await assert.rejects(
    whenAvailable("list the catalog", unsynced, undefined, 1),
    isProviderFailure,
  );
});

Deno.test("whenAvailable() waits for the first lists, and stops when its caller aborts", async () => {
  const synced = Promise.withResolvers<void>();
  const late = { ...cache(), hasSynced: false, whenSynced: () => synced.promise };
  const waiting = whenAvailable("list the catalog", [late]);
  late.hasSynced = true;
  synced.resolve();
  assert.equal(await waiting, "current");

  const caller = new AbortController();
  const stopped = whenAvailable("list the catalog", [cache(undefined, false)], caller.signal);
  caller.abort(new Error("gone away"));
  await assert.rejects(stopped, /gone away/);
});

import assert from "node:assert/strict";
import { LiveLooks } from "./live_looks.ts";

Deno.test("LiveLooks lets one look through, and all while the provider answers", async () => {
  let now = 0;
  const looks = new LiveLooks(() => now);
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const trying = looks.try(() => first.promise);
  assert.equal(looks.mayTry, false);
  first.resolve();
  await trying;
  const next = looks.try(() => second.promise);
  assert.equal(looks.mayTry, true, "it answered a moment ago");
  now += 5_000;
  assert.equal(looks.mayTry, false, "it may be away again");
  second.reject(new Error("away"));
  await assert.rejects(next, /away/);
  assert.equal(looks.mayTry, true, "the next one may try");
  void looks.try(() => new Promise(() => {}));
  assert.equal(looks.mayTry, false);
});

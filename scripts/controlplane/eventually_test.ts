import assert from "node:assert/strict";
import { eventually } from "./eventually.ts";

Deno.test("eventually() gives the first truthy value, whatever was thrown before", async () => {
  const answers = [() => undefined, () => assert.fail("not yet"), () => "there"];
  let looks = 0;
  assert.equal(
    await eventually("it is there", () => answers[looks++]?.(), { everyMs: 1 }),
    "there",
  );
  assert.equal(looks, 3);
});

Deno.test("eventually() names what it waited for, with the last failure as cause", async () => {
  const failure = new Error("refused");
  await assert.rejects(
    eventually("the door is open", () => Promise.reject(failure), { timeoutMs: 10, everyMs: 1 }),
    { message: "Waited 0.01 s in vain: the door is open", cause: failure },
  );
});

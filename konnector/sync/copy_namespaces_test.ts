import assert from "node:assert/strict";
import { CopyNamespaces } from "./copy_namespaces.ts";

Deno.test("CopyNamespaces", async (t) => {
  await t.step("creates a namespace once for all who wait", async () => {
    const namespaces = new CopyNamespaces();
    let made = 0;
    const create = () => Promise.resolve(void made++);
    await Promise.all([namespaces.ensure("a", create), namespaces.ensure("a", create)]);
    namespaces.exists("b");
    await namespaces.ensure("b", create);
    assert.equal(made, 1);
  });

  await t.step("creates it again after a failure", async () => {
    const namespaces = new CopyNamespaces();
    const fault = new Error("away");
    await assert.rejects(namespaces.ensure("a", () => Promise.reject(fault)), fault);
    let isMade = false;
    await namespaces.ensure("a", () => Promise.resolve(void (isMade = true)));
    assert.ok(isMade);
  });

  await t.step("lets one object probe a closed namespace, at growing intervals", () => {
    let now = 0;
    const namespaces = new CopyNamespaces(() => now);
    assert.equal(namespaces.waitMs("a"), 0);
    assert.equal(namespaces.close("a"), 5_000);
    now = 10;
    assert.equal(namespaces.close("a"), 4_990, "objects under way together count once");
    for (const stepMs of [10_000, 20_000, 30_000, 30_000]) {
      now += namespaces.waitMs("a");
      assert.equal(namespaces.waitMs("a"), 0, "one may try");
      namespaces.tryOut("a");
      assert.equal(namespaces.waitMs("a"), stepMs, "the others wait");
      assert.equal(namespaces.close("a"), stepMs);
    }
    assert.equal(namespaces.waitMs("b"), 0);
  });

  await t.step("opens for all", () => {
    const namespaces = new CopyNamespaces(() => 0);
    namespaces.close("a");
    assert.equal(namespaces.open("a"), true);
    assert.equal(namespaces.open("a"), false);
    assert.equal(namespaces.waitMs("a"), 0);
  });
});

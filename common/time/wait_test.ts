import assert from "node:assert/strict";
import { together } from "./wait.ts";

Deno.test("together() returns all results in order", async () => {
  const later = Promise.withResolvers<number>();
  const all = together([later.promise, "now"]);
  later.resolve(1);
  assert.deepEqual(await all, [1, "now"]);
});

Deno.test("together() throws the first failure after every promise has settled", async () => {
  const slow = Promise.withResolvers<void>();
  const order: string[] = [];
  const parts = [
    slow.promise.then(() => order.push("slow part")),
    Promise.reject(new Error("first")),
    Promise.reject(new Error("second")),
  ];
  const all = together(parts).catch((error) => order.push(`throws ${error.message}`));
  await Promise.allSettled(parts.slice(1));
  assert.deepEqual(order, []);
  slow.resolve();
  await all;
  assert.deepEqual(order, ["slow part", "throws first"]);
});

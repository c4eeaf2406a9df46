import assert from "node:assert/strict";
import { ExpiringMap } from "./expiring_map.ts";

Deno.test("ExpiringMap forgets an entry when it expires", () => {
  let nowMs = 100;
  const map = new ExpiringMap<string>(10, () => new Date(nowMs));
  map.set("a", "1", 200);
  map.set("over", "2", 100);
  nowMs = 199;
  assert.equal(map.get("a"), "1");
  assert.equal(map.get("over"), undefined);
  nowMs = 200;
  assert.equal(map.get("a"), undefined);
  assert.equal(map.size, 0);
});

Deno.test("ExpiringMap stays within its size and drops the least recently used", () => {
  const map = new ExpiringMap<number>(2, () => new Date(0));
  map.set("a", 1, Infinity);
  map.set("b", 2, Infinity);
  map.get("a");
  map.set("c", 3, Infinity);
  assert.deepEqual(["a", "b", "c"].map((key) => map.get(key)), [1, undefined, 3]);
  map.set("a", 4, Infinity);
  assert.deepEqual([map.size, map.get("a")], [2, 4]);
});

import assert from "node:assert/strict";
import { clusterLabels } from "./cluster_labels.ts";

Deno.test("clusterLabels() tells clusters of one name apart", () => {
  const a = { uid: "0a57a3ca-1111", name: "prod" };
  const b = { uid: "0b57a3ca-2222", name: "prod" };
  const c = { uid: "0c57a3ca-3333", name: "test" };
  const labelOf = clusterLabels([a, b, a, c, c]);
  assert.deepEqual([a, b, c].map(labelOf), ["prod (0a57a3ca)", "prod (0b57a3ca)", "test"]);
  assert.equal(labelOf({ uid: "u" }), "u");
  assert.equal(labelOf({ uid: "u", name: "prod" }), "prod (u)");
  assert.equal(labelOf({ uid: "u", name: "new" }), "new");
});

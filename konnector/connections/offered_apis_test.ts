import assert from "node:assert/strict";
import { coreCrds } from "../../common/api/crd_manifests.ts";
import { MOST_APIS, takeApis } from "./offered_apis.ts";

const many = (count: number, prefix = "m") =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(4, "0")}.a.org`);

Deno.test("takeApis() takes all that are offered, by name", () => {
  assert.deepEqual(takeApis(["b.a.org", "a.a.org"], []), {
    names: ["a.a.org", "b.a.org"],
    left: 0,
  });
});

Deno.test("takeApis() keeps what is not offered any more", () => {
  assert.deepEqual(takeApis(["a.a.org"], ["gone.a.org"]).names, ["a.a.org", "gone.a.org"]);
});

Deno.test("takeApis() takes no more than 100, and lets none go for a newer one", () => {
  const kept = many(MOST_APIS, "z");
  assert.deepEqual(takeApis(["a.a.org", ...kept], kept), { names: kept, left: 1 });
  const { names, left } = takeApis(many(150), []);
  assert.deepEqual(names, many(MOST_APIS));
  assert.equal(left, 50);
});

Deno.test("takeApis() leaves out what can never be pulled or bound", () => {
  const bad = ["pods", "a..org", "grants.iam.xbind.io", "nodes.k8s.io", "a.sub.kubernetes.io"];
  assert.deepEqual(takeApis(bad, []), { names: [], left: 0 });
});

Deno.test("a ClusterBinding has room for the APIs that are taken", () => {
  const crd = coreCrds().find(({ spec }) => spec.names.plural === "clusterbindings");
  const root = crd?.spec.versions[0]?.schema?.openAPIV3Schema as {
    properties: { spec: { properties: { apis: { maxItems: number } } } };
  };
  assert.equal(root.properties.spec.properties.apis.maxItems, MOST_APIS);
});

import assert from "node:assert/strict";
import { type Shape, ShapeError } from "../shape.ts";
import { BIND_RESULT, CATALOG, CLUSTERS, PROVIDER_INFO } from "./wire.ts";

Deno.test("CATALOG keeps the known fields of a catalog, and treats null as absent", () => {
  const offer = { name: "pg", title: "PostgreSQL", apis: ["dbs.example.org"] };
  const sent = {
    exports: [{ ...offer, description: null, future: 1, docs: "https://docs" }],
    collections: null,
  };
  assert.deepEqual(CATALOG.parse(sent, ""), { exports: [{ ...offer, docs: "https://docs" }] });
});

Deno.test("CLUSTERS accepts an unknown count, and boundaries with too many Leases", () => {
  const apis = [{ name: "a.org" }, { name: "b.org", syncedCount: 0 }];
  const binding = { grant: "g", export: "pg", lastHeartbeat: "", live: true, apis };
  const sent = {
    clusters: [{ uid: "u", lastHeartbeat: "", live: true, bindings: [binding] }],
    truncated: [{ boundaryNamespace: "xbind-1", leases: 100_000 }],
  };
  assert.deepEqual(CLUSTERS.parse(sent, ""), sent);
});

Deno.test("shapes name the wrong field", async (t) => {
  const faults: [shape: Shape<unknown>, value: unknown, fault: string][] = [
    [CATALOG, [], "it is no object"],
    [CATALOG, null, "it is no object"],
    [CATALOG, {}, "exports is no list"],
    [CATALOG, { exports: [{ name: "" }] }, "exports[0].name is empty"],
    [
      CATALOG,
      { exports: [{ name: "a", title: "A", apis: ["x", 7] }] },
      "exports[0].apis[1] is no text",
    ],
    [CLUSTERS, { clusters: [{}] }, "clusters[0].uid is no text"],
    [PROVIDER_INFO, { name: "x", authMethods: [] }, "applyEnabled is neither true nor false"],
    [BIND_RESULT, { grant: "g", expiresAt: "" }, "pickupURL is no text"],
  ];
  for (const [shape, value, fault] of faults) {
    await t.step(fault, () => {
      assert.throws(() => shape.parse(value, ""), (error) => {
        assert.ok(error instanceof ShapeError);
        assert.equal(error.message, fault);
        return true;
      });
    });
  }
});

Deno.test("PROVIDER_INFO accepts sign-in methods that are not known yet", () => {
  const sent = { name: "x", authMethods: ["oidc", "saml"], applyEnabled: true };
  assert.deepEqual(PROVIDER_INFO.parse(sent, ""), sent);
});

import assert from "node:assert/strict";
import { ShapeError } from "../../common/shape.ts";
import { parseBindResult, parseCatalog, parseClusters, parseProvider } from "./wire_shapes.ts";

Deno.test("parseCatalog() keeps the known fields of a catalog", () => {
  const offer = { name: "pg", title: "PostgreSQL", apis: ["dbs.example.org"] };
  const sent = {
    exports: [{ ...offer, description: null, future: 1, docs: "https://docs" }],
    collections: null,
  };
  assert.deepEqual(parseCatalog(sent, ""), { exports: [{ ...offer, docs: "https://docs" }] });
});

Deno.test("parseClusters() takes a count that is unknown, and boundaries that hold too much", () => {
  const apis = [{ name: "a.org" }, { name: "b.org", syncedCount: 0 }];
  const binding = { grant: "g", export: "pg", lastHeartbeat: "", live: true, apis };
  const sent = {
    clusters: [{ uid: "u", lastHeartbeat: "", live: true, bindings: [binding] }],
    truncated: [{ boundaryNamespace: "xbind-1", leases: 100_000 }],
  };
  assert.deepEqual(parseClusters(sent, ""), sent);
});

Deno.test("parsers name the place that is wrong", async (t) => {
  const faults: [parse: (value: unknown, at: string) => unknown, value: unknown, fault: string][] =
    [
      [parseCatalog, [], "it is no object"],
      [parseCatalog, null, "it is no object"],
      [parseCatalog, {}, "exports is no list"],
      [parseCatalog, { exports: [{ name: "" }] }, "exports[0].name is empty"],
      [
        parseCatalog,
        { exports: [{ name: "a", title: "A", apis: ["x", 7] }] },
        "exports[0].apis[1] is no text",
      ],
      [parseClusters, { clusters: [{}] }, "clusters[0].uid is no text"],
      [parseProvider, { name: "x", authMethods: [] }, "applyEnabled is neither true nor false"],
      [parseBindResult, { grant: "g", expiresAt: "" }, "pickupURL is no text"],
    ];
  for (const [parse, value, fault] of faults) {
    await t.step(fault, () => {
      assert.throws(() => parse(value, ""), (error) => {
        assert.ok(error instanceof ShapeError);
        assert.equal(error.message, fault);
        return true;
      });
    });
  }
});

import assert from "node:assert/strict";
import { ENUMS, MINIMAL_PARTS, SAMPLES } from "../../tests/testdata/crds/samples.ts";
import { nodesOf, readCrds, type SchemaNode, schemaOf } from "../../tests/testdata/crds/schema.ts";
import {
  BINDINGS,
  CLUSTER_BINDINGS,
  COLLECTIONS,
  type Condition,
  condition,
  type Conditioned,
  CONNECTIONS,
  EXPORTS,
  GRANTS,
  hasFinalizer,
  isDeleting,
  isReady,
  isReadyFor,
  relatedType,
} from "./resources.ts";

const ready = (status: Condition["status"], observedGeneration?: number): Condition => ({
  type: "Ready",
  status,
  reason: "AsExpected",
  message: "",
  lastTransitionTime: "2026-01-02T03:04:05Z",
  ...(observedGeneration !== undefined && { observedGeneration }),
});

const object = (generation: number | undefined, ...conditions: Condition[]): Conditioned => ({
  metadata: { name: "a", ...(generation === undefined ? {} : { generation }) },
  status: { conditions },
});

Deno.test("condition() finds the condition of a type", () => {
  const stale: Condition = { ...ready("False"), type: "Stale" };
  assert.equal(condition(object(1, ready("True"), stale), "Stale"), stale);
  assert.equal(condition(object(1, ready("True")), "Stale"), undefined);
  assert.equal(condition({ metadata: { name: "a" } }, "Ready"), undefined);
  assert.equal(condition({ metadata: { name: "a" }, status: {} }, "Ready"), undefined);
});

Deno.test("isReady() considers only the current generation", async (t) => {
  const table: [string, Conditioned, boolean][] = [
    ["no status", { metadata: { name: "a", generation: 1 } }, false],
    ["no Ready condition", object(1, { ...ready("True"), type: "Stale" }), false],
    ["Ready False", object(1, ready("False", 1)), false],
    ["Ready Unknown", object(1, ready("Unknown", 1)), false],
    ["Ready of this generation", object(2, ready("True", 2)), true],
    ["Ready of a later generation", object(2, ready("True", 3)), true],
    ["Ready of an older generation", object(2, ready("True", 1)), false],
    ["Ready without a generation", object(2, ready("True")), true],
    ["an object without a generation", object(undefined, ready("True", 0)), true],
  ];
  for (const [what, given, expected] of table) {
    await t.step(`${what}: ${expected}`, () => assert.equal(isReady(given), expected));
  }
});

Deno.test("isReadyFor() requires a condition of at least the given generation", async (t) => {
  const table: [string, Conditioned, boolean][] = [
    ["judged at it", object(3, ready("True", 3)), true],
    ["judged at it, changed since", object(4, ready("True", 3)), true],
    ["judged before it", object(3, ready("True", 2)), false],
    ["judged at it as False", object(3, ready("False", 3)), false],
    ["judged without a generation", object(3, ready("True")), true],
    ["an older object judged without a generation", object(2, ready("True")), false],
  ];
  for (const [what, given, expected] of table) {
    await t.step(`${what}: ${expected}`, () => assert.equal(isReadyFor(3)(given), expected));
  }
});

Deno.test("isDeleting() is true once the object has a deletion time", () => {
  assert.equal(isDeleting({ metadata: { name: "a" } }), false);
  const deletionTimestamp = "2026-01-02T03:04:05Z";
  assert.equal(isDeleting({ metadata: { name: "a", deletionTimestamp } }), true);
});

Deno.test("hasFinalizer() compares whole finalizers", () => {
  const held = { metadata: { name: "a", finalizers: ["iam.xbind.io/cleanup"] } };
  assert.equal(hasFinalizer(held, "iam.xbind.io/cleanup"), true);
  assert.equal(hasFinalizer(held, "iam.xbind.io"), false);
  assert.equal(hasFinalizer({ metadata: { name: "a" } }, "iam.xbind.io/cleanup"), false);
});

Deno.test("crds/ belongs to xbind and leaves annotations to the installer", () => {
  for (const { file, crd: { metadata, spec } } of readCrds()) {
    assert.deepEqual(metadata.labels, { "app.kubernetes.io/part-of": "xbind" }, file);
    assert.equal(metadata.annotations, undefined, file);
    assert.deepEqual(spec.names.categories, ["xbind"], file);
    assert.deepEqual(spec.versions.map(({ served, storage }) => served && storage), [true], file);
  }
});

Deno.test("the resource types agree with crds/", () => {
  const ours = [EXPORTS, COLLECTIONS, GRANTS, CONNECTIONS, CLUSTER_BINDINGS, BINDINGS];
  const defined = readCrds().map(({ file, crd: { metadata, spec } }) => {
    assert.equal(metadata.name, `${spec.names.plural}.${spec.group}`);
    assert.equal(file, `${metadata.name}.yaml`);
    return {
      group: spec.group,
      version: spec.versions.map(({ name }) => name).join(),
      plural: spec.names.plural,
      kind: spec.names.kind,
      namespaced: spec.scope === "Namespaced",
    };
  });
  const byKind = (a: { kind: string }, b: { kind: string }) => a.kind < b.kind ? -1 : 1;
  assert.deepEqual(defined.toSorted(byKind), ours.toSorted(byKind));
});

const keys = (value: object) => Object.keys(value).toSorted();

const compareFields = (schema: SchemaNode, value: unknown, path: string): void => {
  const type = Array.isArray(value) ? "array" : typeof value;
  assert.equal(type, schema.type === "integer" ? "number" : schema.type, path);
  if (Array.isArray(value)) {
    assert.ok(value.length > 0, `${path} has no item to compare`);
    for (const item of value) compareFields(schema.items ?? {}, item, `${path}[]`);
  } else if (schema.properties) {
    const fields = new Map(Object.entries(value as object));
    assert.deepEqual([...fields.keys()].toSorted(), keys(schema.properties), path);
    for (const [name, child] of Object.entries(schema.properties)) {
      compareFields(child, fields.get(name), `${path}.${name}`);
    }
  }
};

const compareRequired = (schema: SchemaNode, value: object, path: string): void => {
  assert.deepEqual(keys(value), schema.required?.toSorted() ?? [], `required in ${path || "root"}`);
  const fields = new Map(Object.entries(value));
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    const body = child.items ?? child;
    if (!body.properties) continue;
    const [sample] = [fields.get(name) ?? MINIMAL_PARTS[name]].flat();
    assert.ok(sample, `no minimal sample for ${path}.${name}`);
    compareRequired(body, sample, `${path}.${name}`);
  }
};

for (const { file, crd } of readCrds()) {
  const schema = schemaOf(crd);
  const samples = SAMPLES[crd.spec.names.kind];
  assert.ok(samples, `no samples of ${crd.spec.names.kind}`);

  Deno.test(`${file} has the fields of its TypeScript type`, () => {
    compareFields(schema, samples.complete, "");
  });

  Deno.test(`${file} requires the same fields as its TypeScript type`, () => {
    compareRequired(schema, samples.minimal, "");
  });

  Deno.test(`${file} allows the same values as its TypeScript type`, () => {
    for (const { path, property, node } of nodesOf(schema)) {
      if (node.enum) assert.deepEqual(node.enum, ENUMS[property], path);
    }
  });

  Deno.test(`${file} describes every node of its schema`, () => {
    const nodes = [...nodesOf(schema)];
    assert.ok(nodes.length > 5);
    const bare = nodes.filter(({ node }) => !node.description?.trim().endsWith("."));
    assert.deepEqual(bare.map(({ path }) => path), []);
  });
}

Deno.test("relatedType() knows both resources", () => {
  assert.equal(relatedType("secrets").plural, "secrets");
  assert.equal(relatedType("configmaps").plural, "configmaps");
});

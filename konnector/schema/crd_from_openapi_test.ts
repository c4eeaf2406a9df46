import assert from "node:assert/strict";
import { CrdRefusedError, pulledCrd } from "./consumer_crd.ts";
import { crdFromOpenApi, type DiscoveredVersion } from "./crd_from_openapi.ts";
import type { Schema } from "./schema.ts";
import { type Schemas, structuralSchema } from "./structural_schema.ts";

const API = { plural: "widgets", group: "example.org" };
const REF = "#/components/schemas/";
const OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const text = { type: "string" };
const preserve = { "x-kubernetes-preserve-unknown-fields": true };

/** A served version whose spec has these fields, as API servers publish those of CRDs. */
const version = (
  name: string,
  fields: Record<string, Schema>,
  schemas: Schemas = {},
): DiscoveredVersion => ({
  name,
  resource: { kind: "Widget", namespaced: true, hasStatus: true, shortNames: ["wd"] },
  schemas: {
    "org.example.Other": { type: "object" },
    [`org.example.${name}.Widget`]: {
      type: "object",
      required: ["spec"],
      properties: {
        apiVersion: { ...text, description: "long" },
        kind: text,
        metadata: { description: "long", allOf: [{ $ref: `${REF}${OBJECT_META}` }] },
        spec: { type: "object", properties: fields },
      },
      "x-kubernetes-group-version-kind": [{ group: "example.org", version: name, kind: "Widget" }],
      "x-kubernetes-validations": [{ rule: "self.spec.a != ''" }],
    },
    [OBJECT_META]: { type: "object", properties: { name: text } },
    ...schemas,
  },
});

/** The schema of a field of spec in the only version of a CRD. */
function convertedField(field: Schema, schemas: Schemas = {}): unknown {
  const crd = crdFromOpenApi(API, [version("v1", { field }, schemas)]);
  const root = crd.spec.versions[0]?.schema?.openAPIV3Schema as {
    properties: { spec: { properties: Record<string, unknown> } };
  };
  return root.properties.spec.properties["field"];
}

Deno.test("a CRD comes from what the provider publishes", () => {
  const crd = crdFromOpenApi(API, [version("v1", { a: text })]);
  assert.deepEqual(crd, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.org" },
    spec: {
      group: "example.org",
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget", shortNames: ["wd"] },
      versions: [{
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            required: ["spec"],
            properties: {
              apiVersion: text,
              kind: text,
              metadata: { type: "object" },
              spec: { type: "object", properties: { a: text } },
            },
            "x-kubernetes-validations": [{ rule: "self.spec.a != ''" }],
          },
        },
      }],
    },
  });
  assert.equal(pulledCrd(crd, "c").type.version, "v1");
});

Deno.test("the newest version is stored, and those whose objects fit it come along", () => {
  const crd = crdFromOpenApi(API, [
    version("v1beta1", { a: text }),
    version("v2", { a: text, b: text }),
    version("v1alpha1", { gone: text }),
    version("v1", { a: text, b: text }),
  ]);
  assert.deepEqual(
    crd.spec.versions.map(({ name, storage }) => [name, storage]),
    [["v2", true], ["v1", false], ["v1beta1", false]],
  );
});

Deno.test("schemas become what a CRD may have", async (t) => {
  const part = { type: "object", properties: { x: text } };
  const cases: [name: string, field: Schema, expected: unknown, schemas?: Schemas][] = [
    ["what CRDs may have", { type: "integer", format: "int64", minimum: 0, default: 1 }, {
      type: "integer",
      format: "int64",
      minimum: 0,
      default: 1,
    }],
    [
      "what they may not have",
      { ...text, uniqueItems: true, "x-kubernetes-patch-strategy": "" },
      text,
    ],
    ["a reference", { $ref: `${REF}Part` }, part, { Part: part }],
    [
      "a reference with a description and an empty default",
      { allOf: [{ $ref: `${REF}Part` }], description: "d", default: {} },
      { ...part, description: "d" },
      { Part: part },
    ],
    ["a reference to nothing", { $ref: `${REF}None` }, preserve],
    ["a reference elsewhere", { $ref: "http://example.org/a" }, preserve],
    ["a reference to what every object inherits", { $ref: `${REF}toString` }, preserve],
    ["time", { $ref: `${REF}io.k8s.apimachinery.pkg.apis.meta.v1.Time` }, {
      type: "string",
      format: "date-time",
    }],
    ["a quantity", { $ref: `${REF}io.k8s.apimachinery.pkg.api.resource.Quantity` }, {
      "x-kubernetes-int-or-string": true,
    }],
    ["no type", { description: "d" }, { description: "d", ...preserve }],
    ["no items", { type: "array" }, { type: "array", items: preserve }],
    ["a map", { type: "object", additionalProperties: text }, {
      type: "object",
      additionalProperties: text,
    }],
    ["a map of anything", { type: "object", additionalProperties: true }, {
      type: "object",
      ...preserve,
    }],
    ["junctors", { ...text, anyOf: [{ pattern: "a" }] }, { ...text, anyOf: [{ pattern: "a" }] }],
    ["junctors with references", { ...text, oneOf: [{ $ref: `${REF}Part` }, text] }, text],
    [
      "an object in an object",
      {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        ...preserve,
        required: ["kind", "apiVersion"],
        properties: {
          apiVersion: text,
          kind: text,
          metadata: { allOf: [{ $ref: `${REF}${OBJECT_META}` }] },
        },
      },
      { type: "object", "x-kubernetes-embedded-resource": true, ...preserve },
    ],
    [
      "a type that contains itself",
      { $ref: `${REF}Tree` },
      { type: "object", properties: { left: preserve } },
      { Tree: { type: "object", properties: { left: { $ref: `${REF}Tree` } } } },
    ],
  ];
  for (const [name, field, expected, schemas] of cases) {
    await t.step(name, () => assert.deepEqual(convertedField(field, schemas), expected));
  }
});

Deno.test("a version without a schema is refused", () => {
  const { schemas: _, ...bare } = version("v1", {});
  assert.throws(() => crdFromOpenApi(API, [{ ...bare, schemas: {} }]), CrdRefusedError);
  assert.throws(() => crdFromOpenApi(API, []), CrdRefusedError);
});

Deno.test("types that multiply are refused before they fill the memory", () => {
  const fields = (next: string) =>
    Object.fromEntries(
      Array.from({ length: 10 }, (_, index) => [`f${index}`, { $ref: `${REF}${next}` }]),
    );
  const schemas = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [
      `T${index}`,
      { type: "object", properties: fields(`T${index + 1}`) },
    ]),
  );
  assert.throws(() => structuralSchema({ $ref: `${REF}T0` }, schemas), CrdRefusedError);
});

Deno.test("a schema that is nested without end is cut off", () => {
  let deep: Schema = text;
  for (let depth = 0; depth < 10_000; depth++) deep = { type: "array", items: deep };
  assert.ok(JSON.stringify(convertedField(deep)).length < 10_000);
  let junctor: Schema = text;
  for (let depth = 0; depth < 10_000; depth++) junctor = { not: junctor };
  assert.deepEqual(convertedField({ ...text, ...junctor }), text);
});

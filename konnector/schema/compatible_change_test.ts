import assert from "node:assert/strict";
import type { CustomResourceVersion } from "../../common/api/resources.ts";
import { parseLossless } from "../../common/kube/lossless_json.ts";
import { type CrdSpec, incompatibleChanges } from "./compatible_change.ts";
import type { Schema } from "./schema.ts";

const version = (name: string, spec: Schema, more: object = {}): CustomResourceVersion => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
  ...more,
});

const crd = (...versions: CustomResourceVersion[]): CrdSpec => ({
  scope: "Namespaced",
  names: { kind: "Widget", plural: "widgets" },
  versions,
});

const object = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more,
});

/** What is told when the field `spec.a` changes from one schema to another. */
const changeOfA = (before: Schema, after: Schema): string[] =>
  incompatibleChanges(
    crd(version("v1", object({ a: before }))),
    crd(version("v1", object({ a: after }))),
  );

const text = { type: "string" };
const whole = { type: "integer" };
const preserve = { "x-kubernetes-preserve-unknown-fields": true };
const intOrString = { "x-kubernetes-int-or-string": true };
const anyMap = { type: "object", ...preserve };
const rule = (rule: string) => ({ "x-kubernetes-validations": [{ rule }] });
const list = (items: Schema, more: Schema = {}): Schema => ({ type: "array", items, ...more });
const listMap = (...keys: string[]) => ({
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": keys,
});

const FINE: readonly (readonly [name: string, before: Schema, after: Schema])[] = [
  ["nothing changes", text, text],
  ["a description changes", { ...text, description: "old" }, { ...text, description: "new" }],
  ["a property comes", object({}), object({ b: text })],
  ["a default comes", text, { ...text, default: "x" }],
  ["a required field has a default", object({}), {
    ...object({ b: { ...text, default: "x" } }),
    required: ["b"],
  }],
  [
    "a field is no longer required",
    { ...object({ b: text }), required: ["b"] },
    object({ b: text }),
  ],
  ["an integer may be any number", whole, { type: "number" }],
  ["an integer may be a string", whole, intOrString],
  ["an int-or-string names both types", intOrString, { ...intOrString, anyOf: [whole, text] }],
  ["it may be null", text, { ...text, nullable: true }],
  ["an enum value comes", { ...text, enum: ["a"] }, { ...text, enum: ["b", "a"] }],
  ["the enum goes", { ...text, enum: ["a"] }, text],
  ["bounds go", { ...text, minLength: 1, maxLength: 5, pattern: "a" }, text],
  ["bounds widen", { ...whole, minimum: 1, maximum: 5 }, { ...whole, minimum: 0, maximum: 6 }],
  ["a bound stays", { ...whole, minimum: 1, exclusiveMinimum: true }, { ...whole, minimum: 1 }],
  ["a lower bound says nothing", text, { ...text, minLength: 0 }],
  ["a multiple becomes finer", { ...whole, multipleOf: 6 }, { ...whole, multipleOf: 3 }],
  ["a format goes", { ...text, format: "date-time" }, text],
  ["an integer gets its own format", { ...whole, format: "int32" }, { ...whole, format: "int64" }],
  ["a rule goes", { ...text, ...rule("self != ''") }, text],
  ["a rule about changes comes", text, { ...text, ...rule("self == oldSelf") }],
  ["fields are kept that were not", object({ b: text }), { ...object({}), ...preserve }],
  ["a property becomes one of a map", object({ b: text }), {
    type: "object",
    additionalProperties: text,
  }],
  ["unknown fields are still kept", { ...anyMap }, { type: "object", additionalProperties: true }],
  ["a junctor goes", { ...text, not: { enum: ["a"] } }, text],
  ["a junctor stays", { ...text, anyOf: [{ pattern: "a", description: "x" }] }, {
    ...text,
    anyOf: [{ pattern: "a" }],
  }],
  ["a list need not be unique", list(text, { "x-kubernetes-list-type": "set" }), list(text)],
];

Deno.test("stored objects fit a schema that is as wide or wider", async (t) => {
  for (const [name, before, after] of FINE) {
    await t.step(name, () => assert.deepEqual(changeOfA(before, after), []));
  }
});

const NARROWER: readonly (readonly [name: string, before: Schema, after: Schema, told: RegExp])[] =
  [
    ["a property goes", object({ b: text }), object({}), /^\.spec\.a\.b is gone/],
    ["a field becomes required", object({ b: text }), {
      ...object({ b: text }),
      required: ["b"],
    }, /^\.spec\.a requires b$/],
    ["the type changes", text, whole, /^\.spec\.a takes integer instead of string$/],
    ["a number must be whole", { type: "number" }, whole, /instead of number or integer/],
    ["a string must be an integer", intOrString, whole, /integer instead of integer or string/],
    ["anything becomes a string", { ...preserve }, text, /takes string only/],
    ["null goes", { ...text, nullable: true }, text, /takes string instead of string or null/],
    ["an enum comes", text, { ...text, enum: ["a"] }, /takes listed values only/],
    ["an enum value goes", { ...text, enum: ["a", "b"] }, { ...text, enum: ["b"] }, /takes "a" no/],
    ["a pattern comes", text, { ...text, pattern: "a" }, /another pattern/],
    ["a pattern changes", { ...text, pattern: "a" }, { ...text, pattern: "b" }, /another pattern/],
    ["a format comes", text, { ...text, format: "date-time" }, /new format date-time/],
    ["a format narrows", { ...whole, format: "int64" }, { ...whole, format: "int32" }, /int32/],
    ["minLength rises", { ...text, minLength: 1 }, { ...text, minLength: 2 }, /minLength: 2/],
    ["maxLength comes", text, { ...text, maxLength: 9 }, /tighter maxLength: 9/],
    ["minimum comes", whole, { ...whole, minimum: 0 }, /tighter minimum: 0/],
    ["maximum falls", { ...whole, maximum: 9 }, { ...whole, maximum: 8 }, /tighter maximum: 8/],
    ["a bound becomes exclusive", { ...whole, maximum: 9 }, {
      ...whole,
      maximum: 9,
      exclusiveMaximum: true,
    }, /tighter maximum/],
    ["maxItems falls", list(text, { maxItems: 2 }), list(text, { maxItems: 1 }), /maxItems: 1/],
    ["minItems comes", list(text), list(text, { minItems: 1 }), /minItems: 1/],
    ["maxProperties comes", anyMap, { ...anyMap, maxProperties: 3 }, /maxProperties: 3/],
    ["a multiple comes", whole, { ...whole, multipleOf: 2 }, /multiple of 2/],
    [
      "a multiple becomes coarser",
      { ...whole, multipleOf: 3 },
      { ...whole, multipleOf: 6 },
      /of 6/,
    ],
    ["a rule comes", text, { ...text, ...rule("self != ''") }, /new rule "self != ''"/],
    ["a junctor comes", text, { ...text, not: { enum: ["a"] } }, /another not/],
    ["a junctor changes", { ...text, anyOf: [{ pattern: "a" }] }, {
      ...text,
      anyOf: [{ pattern: "b" }],
    }, /another anyOf/],
    ["unknown fields are cut off", anyMap, { type: "object" }, /keeps no other fields/],
    [
      "an unknown field gets a type",
      anyMap,
      { ...object({ b: text }), ...preserve },
      /\.a\.b takes/,
    ],
    [
      "a map is gone",
      { type: "object", additionalProperties: text },
      object({}),
      /no other fields/,
    ],
    ["values of a map narrow", { type: "object", additionalProperties: text }, {
      type: "object",
      additionalProperties: { ...text, maxLength: 1 },
    }, /^\.spec\.a\.\* has a tighter maxLength/],
    ["a key of a map narrows", { type: "object", additionalProperties: text }, {
      ...object({ b: whole }),
      ...preserve,
    }, /\.a\.b takes integer instead/],
    ["items narrow", list(text), list(whole), /^\.spec\.a\[\] takes integer/],
    ["items must be unique", list(text), list(text, { "x-kubernetes-list-type": "set" }), /unique/],
    ["other keys must be unique", list(text, listMap("a")), list(text, listMap("b")), /unique/],
    ["it must be a whole object", anyMap, {
      ...anyMap,
      "x-kubernetes-embedded-resource": true,
    }, /whole object/],
  ];

Deno.test("stored objects may not fit a narrower schema", async (t) => {
  for (const [name, before, after, told] of NARROWER) {
    await t.step(name, () => {
      const [first = "", ...others] = changeOfA(before, after);
      assert.match(first, told);
      assert.deepEqual(others, []);
    });
  }
});

Deno.test("numbers that JavaScript cannot hold are compared", () => {
  const [most, fewer] = ["9223372036854775807", "4611686018427387904"].map((maximum) =>
    parseLossless(`{"type": "integer", "maximum": ${maximum}}`) as Schema
  ) as [Schema, Schema];
  assert.deepEqual(changeOfA(fewer, most), []);
  assert.match(changeOfA(most, fewer)[0] ?? "", /tighter maximum/);
});

Deno.test("the versions of a CRD", async (t) => {
  const spec = object({ a: text });
  const one = crd(version("v1", spec));
  const old = { storage: false };
  const cases: [name: string, before: CrdSpec, after: CrdSpec, told: string[]][] = [
    ["a new one with the same fields", one, crd(version("v1", spec, old), version("v2", spec)), []],
    ["one that is not served any more", one, {
      ...crd(version("v1", spec, { ...old, served: false }), version("v2", spec)),
    }, []],
    ["one that is gone", one, crd(version("v2", spec)), ["version v1 is gone"]],
    [
      "one that nobody could use is gone",
      crd(version("v0", spec, { ...old, served: false }), version("v1", spec)),
      one,
      [],
    ],
    [
      "a new one that lacks a field",
      one,
      crd(version("v1", spec, old), version("v2", object({}))),
      [
        ".spec.a is gone, so that it would be lost",
      ],
    ],
    ["another scope", one, { ...one, scope: "Cluster" }, [
      "the scope is Cluster instead of Namespaced",
    ]],
    ["another kind", one, { ...one, names: { kind: "Thing", plural: "widgets" } }, [
      "the kind is Thing instead of Widget",
    ]],
  ];
  for (const [name, before, after, told] of cases) {
    await t.step(name, () => assert.deepEqual(incompatibleChanges(before, after), told));
  }
});

const withRoot = (properties: Record<string, Schema>, more: object = {}): CrdSpec =>
  crd({
    ...version("v1", {}, more),
    schema: { openAPIV3Schema: { type: "object", properties } },
  });

Deno.test("a status that the provider writes may change", () => {
  const [before, after] = [{ status: object({ a: text }) }, { status: object({}) }];
  const subresources = { status: {} };
  assert.deepEqual(
    incompatibleChanges(withRoot(before), withRoot(after, { subresources })),
    [],
  );
  assert.match(
    incompatibleChanges(withRoot(before), withRoot(after))[0] ?? "",
    /^\.status\.a is gone/,
  );
});

Deno.test("the fields that every object has may be listed or not", () => {
  const common = { apiVersion: text, kind: text, metadata: { type: "object" } };
  assert.deepEqual(incompatibleChanges(withRoot(common), withRoot({})), []);
  assert.deepEqual(incompatibleChanges(withRoot({}), withRoot(common)), []);
  const metadata = object({ name: { ...text, maxLength: 9 } });
  assert.match(
    incompatibleChanges(withRoot(common), withRoot({ metadata }))[0] ?? "",
    /^\.metadata\.name has a tighter maxLength/,
  );
});

Deno.test("at most three changes are listed, each once", () => {
  const fields = (schema: Schema) => object({ a: schema, b: schema, c: schema, d: schema });
  const told = incompatibleChanges(
    crd(version("v1", fields(text), { storage: false }), version("v2", fields(text))),
    crd(version("v1", fields(whole), { storage: false }), version("v2", fields(whole))),
  );
  assert.equal(told.length, 4);
  assert.equal(new Set(told).size, 4);
  assert.equal(told[3], "and more");
});

Deno.test("a schema without end is refused and does not overflow the stack", () => {
  let deep: Schema = text;
  for (let depth = 0; depth < 5_000; depth++) deep = list(deep);
  assert.match(changeOfA(deep, deep)[0] ?? "", /nested too deeply/);
});

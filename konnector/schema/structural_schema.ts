import { CrdRefusedError } from "./consumer_crd.ts";
import { ANYTHING, INT_OR_STRING, PRESERVE, type Schema, schemaOf } from "./schema.ts";

/** The schemas of an OpenAPI document, by name. */
export type Schemas = Readonly<Record<string, Schema>>;

const ANY_OBJECT: Schema = { type: "object", [PRESERVE]: true };

/** Fields of a schema that a CRD may have, besides those with schemas in them. */
const KEPT = [
  "description",
  "type",
  "format",
  "title",
  "default",
  "maximum",
  "exclusiveMaximum",
  "minimum",
  "exclusiveMinimum",
  "maxLength",
  "minLength",
  "pattern",
  "maxItems",
  "minItems",
  "multipleOf",
  "enum",
  "maxProperties",
  "minProperties",
  "required",
  "nullable",
  PRESERVE,
  "x-kubernetes-embedded-resource",
  INT_OR_STRING,
  "x-kubernetes-list-map-keys",
  "x-kubernetes-list-type",
  "x-kubernetes-map-type",
  "x-kubernetes-validations",
];
const JUNCTORS = ["allOf", "anyOf", "oneOf", "not"];

/** Types of Kubernetes, by the end of their name, that have their own form in a CRD. */
const KNOWN: readonly (readonly [end: string, schema: Schema])[] = [
  [".meta.v1.ObjectMeta", ANY_OBJECT],
  [".meta.v1.Time", { type: "string", format: "date-time" }],
  [".meta.v1.MicroTime", { type: "string", format: "date-time" }],
  [".meta.v1.FieldsV1", ANY_OBJECT],
  [".util.intstr.IntOrString", { [INT_OR_STRING]: true }],
  [".api.resource.Quantity", { [INT_OR_STRING]: true }],
  [".pkg.runtime.RawExtension", ANY_OBJECT],
  [".apiextensions.v1.JSON", ANYTHING],
];

const REF = "#/components/schemas/";
/** A type may use others in many places. No CRD of 1 MiB has more schemas. */
const MOST_SCHEMAS = 20_000;
const DEEPEST = 60;

/**
 * Turns a schema of an OpenAPI document into one that a CRD can have: without references, and with
 * a type everywhere. A type that contains itself may have any content there, and so may everything
 * that is nested too deeply. Throws a `CrdRefusedError` if the result would be too large.
 */
export function structuralSchema(root: Schema, schemas: Schemas): Schema {
  let left = MOST_SCHEMAS;

  const convert = (schema: Schema, inside: readonly string[], depth: number): Schema => {
    if (--left < 0) throw new CrdRefusedError("its schema is too large");
    if (depth > DEEPEST) return ANYTHING;
    const ref = referenceOf(schema);
    if (ref !== undefined) return resolve(ref, schema, inside, depth);
    const result: Record<string, unknown> = {};
    for (const key of KEPT) if (schema[key] !== undefined) result[key] = schema[key];
    const inner = (value: Schema) => convert(value, inside, depth + 1);
    const properties = schemaOf(schema["properties"]);
    if (properties) {
      result["properties"] = Object.fromEntries(
        Object.entries(properties).map(([name, each]) => [name, inner(schemaOf(each) ?? ANYTHING)]),
      );
    } else {
      const additional = schema["additionalProperties"];
      const others = schemaOf(additional);
      if (others) result["additionalProperties"] = inner(others);
      else if (additional === true) result[PRESERVE] = true;
    }
    const items = schemaOf(schema["items"]);
    if (items) result["items"] = inner(items);
    else if (schema["type"] === "array") result["items"] = ANYTHING;
    for (const key of JUNCTORS) {
      // A CRD cannot have a junctor with a reference.
      if (schema[key] !== undefined && isPlain(schema[key])) result[key] = schema[key];
    }
    const hasType = typeof result["type"] === "string" ||
      result[INT_OR_STRING] === true;
    if (!hasType) result[PRESERVE] = true;
    const isEmbedded = result["x-kubernetes-embedded-resource"] === true;
    return isEmbedded ? withoutCommonFields(result) : result;
  };

  const resolve = (
    name: string,
    { description, nullable }: Schema,
    inside: readonly string[],
    depth: number,
  ): Schema => {
    const known = KNOWN.find(([end]) => name.endsWith(end))?.[1];
    const target = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    const isEndless = inside.includes(name);
    const base = known ??
      (target && !isEndless ? convert(target, [...inside, name], depth + 1) : ANYTHING);
    return {
      ...base,
      ...(description === undefined ? {} : { description }),
      ...(nullable === undefined ? {} : { nullable }),
    };
  };

  return asRoot(convert(root, [], 0));
}

/** Returns the name of the type that a schema stands for, alone or as the only one in `allOf`. */
function referenceOf(schema: Schema): string | undefined {
  const all = schema["allOf"];
  const only = Array.isArray(all) && all.length === 1 ? schemaOf(all[0]) : undefined;
  const ref = schema["$ref"] ?? only?.["$ref"];
  return typeof ref === "string" && ref.startsWith(REF) ? ref.slice(REF.length) : undefined;
}

/** Returns whether a value has no reference in it, and is not nested too deeply to tell. */
function isPlain(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depth > DEEPEST || "$ref" in value) return false;
  return Object.values(value).every((each) => isPlain(each, depth + 1));
}

const COMMON_FIELDS = ["apiVersion", "kind", "metadata"];

/** Every object has these fields without a schema, even an object embedded in another. */
function withoutCommonFields(schema: Record<string, unknown>): Record<string, unknown> {
  const { properties, required, ...rest } = schema;
  const others = Object.entries(properties ?? {}).filter(([name]) => !COMMON_FIELDS.includes(name));
  const names: unknown[] = Array.isArray(required) ? required : [];
  const needed = names.filter((name) => !COMMON_FIELDS.includes(String(name)));
  return {
    ...rest,
    ...(others.length > 0 ? { properties: Object.fromEntries(others) } : {}),
    ...(needed.length > 0 ? { required: needed } : {}),
  };
}

/** Every object has these three fields. */
function asRoot(schema: Schema): Schema {
  return {
    ...schema,
    type: "object",
    properties: {
      ...schemaOf(schema["properties"]),
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
    },
  };
}

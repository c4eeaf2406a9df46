import { textsIn } from "../../common/shape.ts";
import { ANYTHING, INT_OR_STRING, PRESERVE, type Schema, schemaOf } from "./schema.ts";

/** Where a schema became narrower, and how. */
export interface Narrowing {
  /** The path of the field, such as `.spec.size`; empty for the whole. */
  readonly path: string;
  readonly change: string;
}

/** No API server takes schemas that are nested deeper. */
const DEEPEST = 100;

/**
 * Finds where an object that is valid under `before` could be invalid under `after`, or lose a
 * field. It compares the schemas only, not stored objects.
 */
export function* narrowings(
  before: Schema,
  after: Schema,
  path = "",
  depth = 0,
): Generator<Narrowing> {
  for (const change of ownNarrowings(before, after)) yield { path, change };
  if (depth > DEEPEST) return yield { path, change: "is nested too deeply" };
  const inner = (from: Schema, to: Schema, step: string) =>
    narrowings(from, to, `${path}${step}`, depth + 1);
  const [known, wanted] = [propertiesOf(before), propertiesOf(after)];
  const mayHaveFields = typesOf(after)?.includes("object") ?? true;
  const [others, wantedOthers] = mayHaveFields ? [otherFields(before), otherFields(after)] : [];
  for (const name of new Set([...Object.keys(known), ...Object.keys(wanted)])) {
    const [from, to] = [known[name] ?? others, wanted[name] ?? wantedOthers];
    if (from === undefined) continue; // no object can have this field yet
    if (to) yield* inner(from, to, `.${name}`);
    else yield { path: `${path}.${name}`, change: "is gone, so that it would be lost" };
  }
  if (others && !wantedOthers) yield { path, change: "keeps no other fields any more" };
  else if (others && wantedOthers && wantedOthers !== ANYTHING) {
    yield* inner(others, wantedOthers, ".*");
  }
  const items = schemaOf(after["items"]);
  if (items) yield* inner(schemaOf(before["items"]) ?? ANYTHING, items, "[]");
}

/** Finds what became narrower about a value itself, not about the values in it. */
function* ownNarrowings(before: Schema, after: Schema): Generator<string> {
  yield* narrowerTypes(before, after);
  yield* narrowerValues(before, after);
  yield* narrowerBounds(before, after);
  for (const name of newlyRequired(before, after)) yield `requires ${name}`;
  for (const key of ["allOf", "anyOf", "oneOf", "not"]) {
    const [from, to] = [junctorOf(before, key), junctorOf(after, key)];
    if (to !== undefined && to !== from) yield `has another ${key}`;
  }
  const rules = new Set(rulesOf(before));
  for (const rule of rulesOf(after)) {
    // A rule about changes does not concern an object that exists.
    if (!rules.has(rule) && !rule.includes("oldSelf")) yield `has the new rule "${short(rule)}"`;
  }
  const embedded = "x-kubernetes-embedded-resource";
  if (after[embedded] === true && before[embedded] !== true) yield "must be a whole object";
  const listType = after["x-kubernetes-list-type"];
  if ((listType === "set" || listType === "map") && uniqueness(before) !== uniqueness(after)) {
    yield "must have unique items";
  }
}

function* narrowerTypes(before: Schema, after: Schema): Generator<string> {
  const [from, to] = [typesOf(before), typesOf(after)];
  if (to && !from) yield `takes ${to.join(" or ")} only`;
  if (!to || !from) return;
  const lost = from.filter((type) => !to.includes(type));
  if (lost.length > 0) yield `takes ${to.join(" or ")} instead of ${from.join(" or ")}`;
}

/** Lists the types of a value; undefined if it may have any. */
function typesOf(schema: Schema): string[] | undefined {
  const { type, nullable } = schema;
  const types = schema[INT_OR_STRING] === true
    ? ["integer", "string"]
    : type === "number"
    ? ["number", "integer"]
    : typeof type === "string"
    ? [type]
    : undefined;
  return types && nullable === true ? [...types, "null"] : types;
}

function* narrowerValues(before: Schema, after: Schema): Generator<string> {
  if (Array.isArray(after["enum"])) {
    const allowed = new Set(after["enum"].map(canonical));
    if (!Array.isArray(before["enum"])) yield "takes listed values only";
    else {
      const gone = before["enum"].filter((value) => !allowed.has(canonical(value)));
      if (gone.length > 0) yield `takes ${short(gone.map(canonical).join(", "))} no more`;
    }
  }
  const { pattern, format } = after;
  if (pattern !== undefined && pattern !== before["pattern"]) yield "has another pattern";
  // These two are what numbers have without a format.
  const isNewFormat = format !== undefined && format !== before["format"] &&
    format !== "int64" && format !== "double";
  if (isNewFormat) yield `has the new format ${short(String(format))}`;
}

const LOWER = ["minLength", "minItems", "minProperties", "minimum"];
const UPPER = ["maxLength", "maxItems", "maxProperties", "maximum"];

function* narrowerBounds(before: Schema, after: Schema): Generator<string> {
  for (const key of [...LOWER, ...UPPER]) {
    const to = numberOf(after[key]);
    if (to === undefined) continue;
    const isLower = LOWER.includes(key);
    const none = isLower && key !== "minimum" ? 0 : isLower ? -Infinity : Infinity;
    const from = numberOf(before[key]) ?? none;
    const isTighter = isLower ? to > from : to < from;
    const exclusive = key === "minimum" ? "exclusiveMinimum" : "exclusiveMaximum";
    const isOpenNow = to === from && /imum$/.test(key) && after[exclusive] === true &&
      before[exclusive] !== true;
    if (isTighter || isOpenNow) yield `has a tighter ${key}: ${to}`;
  }
  const [from, to] = [numberOf(before["multipleOf"]), numberOf(after["multipleOf"])];
  if (to !== undefined && (from === undefined || from % to !== 0)) yield `is a multiple of ${to}`;
}

/** Lists the fields that must be there from now on, and that the API server does not fill in. */
const newlyRequired = (before: Schema, after: Schema): string[] =>
  textsIn(after["required"]).filter((name) =>
    !textsIn(before["required"]).includes(name) &&
    propertiesOf(after)[name]?.["default"] === undefined
  );

const propertiesOf = (schema: Schema): Readonly<Record<string, Schema>> =>
  (schemaOf(schema["properties"]) ?? {}) as Record<string, Schema>;

/** Returns what fields that are not listed may be; undefined if they are not kept. */
function otherFields(schema: Schema): Schema | undefined {
  const additional = schema["additionalProperties"];
  return additional === true || schema[PRESERVE] === true ? ANYTHING : schemaOf(additional);
}

/** Every int-or-string may carry this junctor, which adds nothing to it. */
const INT_OR_STRING_JUNCTOR = '[{"type":"integer"},{"type":"string"}]';

function junctorOf(schema: Schema, key: string): string | undefined {
  if (schema[key] === undefined) return undefined;
  const text = canonical(schema[key]);
  return schema[INT_OR_STRING] === true && text === INT_OR_STRING_JUNCTOR ? undefined : text;
}

function rulesOf(schema: Schema): string[] {
  const rules = schema["x-kubernetes-validations"];
  if (!Array.isArray(rules)) return [];
  return rules.map((each) => String((each as { rule?: unknown } | null)?.rule));
}

const uniqueness = (schema: Schema): string =>
  canonical([schema["x-kubernetes-list-type"], schema["x-kubernetes-list-map-keys"]]);

/** Reads a number, also one that is too large for JavaScript and is kept as its text. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return value === undefined ? undefined : Number(JSON.stringify(value));
}

const LONGEST = 80;
const short = (text: string): string => text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;

/** Writes a value as text that does not depend on the order of fields, or on descriptions. */
function canonical(value: unknown): string {
  return JSON.stringify(
    value ?? null,
    (key, inner: unknown) =>
      key === "description" && typeof inner === "string"
        ? undefined
        : schemaOf(inner)
        ? Object.fromEntries(Object.entries(inner as object).sort(([x], [y]) => x < y ? -1 : 1))
        : inner,
  );
}

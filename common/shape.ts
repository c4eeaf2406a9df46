/** Says what is wrong with a value, and where in it: `exports[2].name is no text`. */
export class ShapeError extends Error {
  override readonly name = "ShapeError";

  constructor(readonly at: string, fault: string) {
    super(`${at || "it"} ${fault}`);
  }
}

/** The part of JSON Schema that our shapes need. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: "string" | "integer" | "boolean" | "array" | "object";
  readonly description?: string;
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly minLength?: number;
  readonly items?: JsonSchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

/** One kind of value: its type, its parser and its JSON Schema. */
export interface Shape<T> {
  /** Returns the known parts of a value, or throws a `ShapeError` that names the place. */
  readonly parse: (value: unknown, at: string) => T;
  readonly schema: JsonSchema;
}

/** The type of the values of a shape. */
export type Infer<S extends Shape<unknown>> = ReturnType<S["parse"]>;

const leaf = <T>(
  schema: JsonSchema,
  description: string | undefined,
  isOne: (value: unknown) => value is T,
  fault: string,
): Shape<T> => ({
  schema: description === undefined ? schema : { ...schema, description },
  parse: (value, at) => {
    if (!isOne(value)) throw new ShapeError(at, fault);
    return value;
  },
});

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number";
const isFlag = (value: unknown) => typeof value === "boolean";

/** Reads the fields of a value that may be anything. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

/** Reads the strings of a value that may be anything. */
export const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];

/** A string. */
export const text = (description?: string): Shape<string> =>
  leaf({ type: "string" }, description, isText, "is no text");

/** A string that is not empty. */
export const name = (description?: string): Shape<string> =>
  refined(text(description), (value) => value !== "", "is empty");

/** A string that is not empty, which the schema tells callers who have to send it. */
export const nonempty = (description: string): Shape<string> => ({
  ...name(),
  schema: { type: "string", minLength: 1, description },
});

/** A string with a time in RFC 3339; the parser does not read the time. */
export const time = (description: string): Shape<string> => ({
  ...text(),
  schema: { type: "string", format: "date-time", description },
});

/** A number, which the schema calls an integer. */
export const count = (description?: string): Shape<number> =>
  leaf({ type: "integer" }, description, isNumber, "is no number");

/** True or false. */
export const flag = (description?: string): Shape<boolean> =>
  leaf({ type: "boolean" }, description, isFlag, "is neither true nor false");

/** One of these strings. */
export const oneOf = <T extends string>(...allowed: readonly T[]): Shape<T> =>
  leaf(
    { type: "string", enum: allowed },
    undefined,
    (value): value is T => allowed.some((each) => each === value),
    `is none of ${allowed.join(", ")}`,
  );

/** One of these strings by its schema; the parser accepts others, which newer peers may send. */
export const known = <T extends string>(...values: readonly T[]): Shape<T> => ({
  ...text() as Shape<T>,
  schema: { type: "string", enum: values },
});

/** Any value, which the reader checks. */
export const anything = (schema: JsonSchema = {}): Shape<unknown> => ({
  schema,
  parse: (value) => value,
});

/** A shape with one more demand. */
export const refined = <T>(
  { parse, schema }: Shape<T>,
  isFine: (value: T) => boolean,
  fault: string,
): Shape<T> => ({
  schema,
  parse: (value, at) => {
    const parsed = parse(value, at);
    if (!isFine(parsed)) throw new ShapeError(at, fault);
    return parsed;
  },
});

/** A list of such values. */
export const list = <T>({ parse, schema }: Shape<T>): Shape<readonly T[]> => ({
  schema: { type: "array", items: schema },
  parse: (value, at) => {
    if (!Array.isArray(value)) throw new ShapeError(at, "is no list");
    return value.map((each, i) => parse(each, `${at}[${i}]`));
  },
});

/** An object with such values under any keys. */
export const mapOf = <T>({ parse }: Shape<T>): Shape<Readonly<Record<string, T>>> => ({
  schema: { type: "object" },
  parse: (value, at) =>
    Object.fromEntries(
      Object.entries(objectAt(value, at)).map((
        [key, each],
      ) => [key, parse(each, `${at}["${key}"]`)]),
    ),
});

type Fields = Readonly<Record<string, Shape<unknown>>>;
type Flat<T> = { [K in keyof T]: T[K] };
type Values<R extends Fields, O extends Fields> = Flat<
  & { readonly [K in keyof R]: Infer<R[K]> }
  & { readonly [K in keyof O]?: Infer<O[K]> }
>;

/** An object with these fields. An optional field may also be null; other fields are left out. */
export const record = <R extends Fields, O extends Fields = Record<never, never>>(
  required: R,
  optional?: O,
): Shape<Values<R, O>> =>
  fields(required, optional ?? {}, (value) => value === undefined || value === null);

/** An object that a caller sends: as a record, but null is not accepted for an absent field. */
export const request = <R extends Fields, O extends Fields = Record<never, never>>(
  description: string,
  required: R,
  optional?: O,
): Shape<Values<R, O>> => {
  const { parse, schema } = fields<R, O>(
    required,
    optional ?? {},
    (value) => value === undefined,
  );
  return { parse, schema: { ...schema, description } };
};

function fields<R extends Fields, O extends Fields>(
  required: R,
  optional: Fields,
  isAbsent: (value: unknown) => boolean,
): Shape<Values<R, O>> {
  const shapes = { ...required, ...optional };
  const entries = Object.entries(shapes);
  const properties = Object.fromEntries(entries.map(([key, { schema }]) => [key, schema]));
  return {
    schema: { type: "object", required: Object.keys(required), properties },
    parse: (value, at) => {
      const given = objectAt(value, at);
      const parsed: Record<string, unknown> = {};
      for (const [key, { parse }] of entries) {
        const field = given[key];
        if (key in optional && isAbsent(field)) continue;
        parsed[key] = parse(field, at === "" ? key : `${at}.${key}`);
      }
      return parsed as Values<R, O>;
    },
  };
}

function objectAt(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ShapeError(at, "is no object");
  }
  return value as Readonly<Record<string, unknown>>;
}

/** A schema in the form that CRDs have, as JSON. */
export type Schema = Readonly<Record<string, unknown>>;

/** Keeps fields that the schema does not list. */
export const PRESERVE = "x-kubernetes-preserve-unknown-fields";
/** Accepts integers and strings. */
export const INT_OR_STRING = "x-kubernetes-int-or-string";
/** Accepts and keeps every value. */
export const ANYTHING: Schema = { [PRESERVE]: true };

/** Returns a value that may be a schema; undefined if it is no object. */
export const schemaOf = (value: unknown): Schema | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Schema
    : undefined;

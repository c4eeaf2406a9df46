/** A part of an object, or a field set of `managedFields`. */
export type Fields = Readonly<Record<string, unknown>>;

/** The fields of an object that are not its content. */
export const IDENTITY_FIELDS: readonly string[] = ["apiVersion", "kind", "metadata", "status"];

/** Returns whether a value has fields. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isRaw(value);

/** An integer of 64 bits is held as raw JSON, which is an object without fields of its own. */
const isRaw = (JSON as unknown as { isRawJSON(value: unknown): boolean }).isRawJSON;

/** A field of a spec that is text; anything else is told as a fault of that object. */
export function text(value: unknown, field: string): string {
  if (typeof value !== "string") throw new TypeError(`spec.${field} is no text`);
  return value;
}

/** The same for a field that may be absent. */
export const optionalText = (value: unknown, field: string): string | undefined =>
  value === undefined || value === null ? undefined : text(value, field);

/** A field of a spec that is a list. */
export function list<T>(value: T[], field: string): T[] {
  if (!Array.isArray(value)) throw new TypeError(`spec.${field} is no list`);
  return value;
}

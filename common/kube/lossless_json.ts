/** `JSON` with two features that TypeScript does not know yet: the source text and raw values. */
interface ModernJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
}

const json = JSON as unknown as ModernJson;

/** The smallest integer that a number cannot hold exactly has 16 digits. */
const LONG_NUMBER = /\d{16}/;
const INTEGER = /^-?\d+$/;

/**
 * Parses JSON and keeps every integer exact. Kubernetes has 64-bit integers, and a JavaScript number
 * holds 53 bits. A larger integer becomes a raw value, which `JSON.stringify` writes back unchanged.
 */
export function parseLossless(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  return json.parse(text, (_, value, { source }) => {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
    return source !== undefined && INTEGER.test(source) ? json.rawJSON(source) : value;
  });
}

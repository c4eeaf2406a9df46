/** `JSON` with two features that TypeScript does not know yet: the source text and raw values. */
interface ModernJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
}

const json = JSON as unknown as ModernJson;

/** The smallest integer that a number cannot hold exactly has this many digits. */
const LONG = 16;
const INTEGER = /^-?\d+$/;

/**
 * Parses JSON and keeps every integer exact. Kubernetes has 64-bit integers, and a JavaScript
 * number holds 53 bits. A larger integer becomes a raw value, which `JSON.stringify` writes back
 * unchanged.
 */
export function parseLossless(text: string): unknown {
  if (!hasLongNumber(text)) return JSON.parse(text);
  return json.parse(text, (_, value, { source }) => {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
    return source !== undefined && INTEGER.test(source) ? json.rawJSON(source) : value;
  });
}

/** Looks at every sixteenth character only, because a long number has one of them. */
function hasLongNumber(text: string): boolean {
  for (let at = LONG - 1; at < text.length; at += LONG) {
    if (!isDigit(text, at)) continue;
    let first = at;
    let last = at;
    while (isDigit(text, first - 1)) first--;
    while (isDigit(text, last + 1)) last++;
    if (last - first + 1 >= LONG) return true;
  }
  return false;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at); // NaN outside of the text
  return code >= 48 && code <= 57;
}

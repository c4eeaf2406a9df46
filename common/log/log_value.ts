import { errorChain } from "../errors.ts";

const MAX_TEXT = 8 * 1024;
const MAX_JSON = 4 * MAX_TEXT;
const MAX_DEPTH = 6;
const MAX_VALUES = 500; // in one field, all levels together

/** Copies any value into one that is safe to log: bounded and without cycles. Never throws. */
export const logValue = (value: unknown): unknown => {
  const seen: object[] = [];
  let left = MAX_VALUES;

  const copy = (value: unknown): unknown => {
    if (left-- <= 0) return "[cut]";
    switch (typeof value) {
      case "string":
        return cut(value);
      case "number":
        return Number.isFinite(value) ? value : String(value);
      case "bigint":
        return cut(String(value));
      case "function":
      case "symbol":
        return `[${typeof value}]`;
      case "object":
        return value === null ? null : copyObject(value);
      default:
        return value;
    }
  };

  const copyObject = (value: object): unknown => {
    if (seen.includes(value)) return "[circular]";
    if (seen.length >= MAX_DEPTH) return "[nested]";
    seen.push(value);
    try {
      if (value instanceof Error) return cut(errorChain(value));
      // Bytes are usually keys or tokens.
      if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
      if (value instanceof Map) return copyEntries([...value].map(([k, v]) => [String(k), v]));
      if (value instanceof Set) return copyItems([...value]);
      if (Array.isArray(value)) return copyItems(value);
      if ("toJSON" in value && typeof value.toJSON === "function") return copy(value.toJSON());
      return copyEntries(Object.entries(value));
    } catch {
      return "[unreadable]";
    } finally {
      seen.pop();
    }
  };

  const copyItems = (items: readonly unknown[]) =>
    items.slice(0, left + 1).map((item) => copy(item) ?? null);

  const copyEntries = (entries: readonly (readonly [string, unknown])[]) =>
    Object.fromEntries(entries.slice(0, left + 1).map(([key, item]) => [cut(key), copy(item)]));

  return copy(value);
};

/** Formats any value as bounded JSON on one line; undefined if JSON cannot express it. */
export const logJson = (value: unknown): string | undefined => {
  const json = JSON.stringify(logValue(value));
  const bounded = json && json.length > MAX_JSON ? JSON.stringify(cut(json)) : json;
  // Outside strings JSON has none of these characters, so each match may become an escape.
  return bounded?.replace(UNSAFE, unicodeEscape);
};

/** Makes text safe for one line: it is cut, and cannot control a terminal or start a new record. */
export const logText = (text: string): string =>
  cut(text).replace(
    UNSAFE,
    (char) => SHORT_ESCAPES[char] ?? unicodeEscape(char),
  );

// Control characters (ANSI escapes start with one, in 7 or in 8 bits), line and paragraph
// separators, lone surrogates, and the marks that make text run in the other direction.
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
const SHORT_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

const unicodeEscape = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

const cut = (text: string) =>
  text.length <= MAX_TEXT
    ? text
    : `${text.slice(0, MAX_TEXT)}… (${text.length - MAX_TEXT} more characters)`;

import { type Fields, isFields } from "./fields.ts";

/**
 * Returns whether a field set has every field of the content. The API server takes a field out of
 * our set when another writer changes or removes it.
 */
export function covers(fieldSet: unknown, content: unknown): boolean {
  if (!isFields(fieldSet)) return false;
  if (Array.isArray(content)) return coversList(fieldSet, content);
  if (!isFields(content)) return true;
  return Object.entries(content).every(([name, value]) => covers(fieldSet[`f:${name}`], value));
}

/** A list is one field, or each item is named by its key fields (`k:`) or by its value (`v:`). */
function coversList(fieldSet: Fields, list: readonly unknown[]): boolean {
  const items = Object.entries(fieldSet).filter(([name]) => /^[kv]:/.test(name));
  if (items.length === 0) return true;
  return list.every((item) =>
    items.some(([name, inner]) => {
      const key: unknown = JSON.parse(name.slice("k:".length));
      return name.startsWith("v:") ? isSame(item, key) : contains(item, key) && covers(inner, item);
    })
  );
}

/** Returns whether `whole` has all fields of `part` with their values. Lists must be equal. */
export function contains(whole: unknown, part: unknown): boolean {
  if (!isFields(part) || !isFields(whole)) return isSame(whole, part);
  return Object.entries(part).every(([name, value]) =>
    Object.hasOwn(whole, name) && contains(whole[name], value)
  );
}

/** Both come from API servers, which sort fields. */
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

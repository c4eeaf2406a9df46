import type { Catalog } from "../../common/api/wire.ts";

/** Says how well an Export matches: by name or title, or by another field. */
export type Match = 0 | 1;

/** Returns the Exports that match a search, and how well; built once per catalog. */
export type SearchIndex = (search: string) => ReadonlyMap<string, Match> | undefined;

/** Indexes name, title, description, APIs and Collections; an empty search returns undefined. */
export function searchIndex({ exports, collections = [] }: Catalog): SearchIndex {
  const collectionText = new Map<string, string>();
  for (const collection of collections) {
    const text = [collection.name, collection.title, collection.description ?? ""].join("\n");
    for (const name of collection.exports) {
      collectionText.set(name, `${collectionText.get(name) ?? ""}\n${text}`);
    }
  }
  const entries = exports.map(({ name, title, description = "", apis }) => ({
    name,
    names: folded(`${name}\n${title}`),
    text: folded([name, title, description, ...apis, collectionText.get(name) ?? ""].join("\n")),
  }));
  return (search) => {
    const words = searchWords(search);
    if (words.length === 0) return undefined;
    const found = new Map<string, Match>();
    for (const { name, names, text } of entries) {
      if (!words.every((word) => text.includes(word))) continue;
      found.set(name, words.every((word) => names.includes(word)) ? 0 : 1);
    }
    return found;
  };
}

/** Splits a search into words, all of which must match. */
export const searchWords = (search: string): string[] =>
  folded(search).split(/\s+/).filter((word) => word !== "");

/** Removes case, accents and variants of letters, which users do not type in a search. */
export const folded = (text: string): string =>
  text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();

import type { Catalog } from "../../common/api/wire.ts";

/** How well an Export matches: by its name and title, or by something else about it. */
export type Match = 0 | 1;

/** Answers which Exports match a search, and how well; made once for each catalog. */
export type SearchIndex = (search: string) => ReadonlyMap<string, Match> | undefined;

/** The index over name, title, description, APIs and Collections; an empty search is undefined. */
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

/** The words of a search, all of which must be found. */
export const searchWords = (search: string): string[] =>
  folded(search).split(/\s+/).filter((word) => word !== "");

/** Text without the differences that people do not type: case, accents, forms of one letter. */
export const folded = (text: string): string =>
  text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();

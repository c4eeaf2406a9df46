import type { Catalog, CatalogExport } from "../../common/api/wire.ts";
import type { Match } from "./search_index.ts";

/** One heading of the catalog, with what belongs under it. */
export interface CatalogSection {
  readonly key: string;
  readonly title: string;
  readonly description: string;
  readonly exports: readonly CatalogExport[];
}

/** What narrows the catalog. */
export interface CatalogFilter {
  /** Names of Exports and how well they match; undefined for all. */
  readonly found: ReadonlyMap<string, Match> | undefined;
  /** Name of one Collection; empty for all. */
  readonly collection: string;
  /** Names of Exports; undefined when it does not matter. */
  readonly bound: ReadonlySet<string> | undefined;
}

/** The catalog by Collection, then what is in none; sections without a match are left out. */
export function catalogSections(catalog: Catalog, filter: CatalogFilter): CatalogSection[] {
  const { exports, collections = [] } = catalog;
  const byName = new Map(exports.map((offer) => [offer.name, offer]));
  const isShown = ({ name }: CatalogExport) =>
    (filter.found?.has(name) ?? true) && (filter.bound?.has(name) ?? true);
  const sections = collections
    .filter(({ name }) => filter.collection === "" || filter.collection === name)
    .map(({ name, title, description = "", exports }) => ({
      key: `collection/${name}`,
      title,
      description,
      exports: exports.flatMap((each) => byName.get(each) ?? []).filter(isShown),
    }));
  if (filter.collection === "") {
    const inSome = new Set(collections.flatMap((collection) => collection.exports));
    sections.push({
      key: "other",
      title: collections.length > 0 ? "Other services" : "All services",
      description: "",
      exports: exports.filter((offer) => !inSome.has(offer.name) && isShown(offer)),
    });
  }
  const shown = sections.filter((section) => section.exports.length > 0);
  return filter.found ? bestFirst(shown, filter.found) : shown;
}

/** Better matches come first in their section, and the sections that have them before others. */
function bestFirst(
  sections: readonly CatalogSection[],
  found: ReadonlyMap<string, Match>,
): CatalogSection[] {
  const match = ({ name }: CatalogExport) => found.get(name) ?? 1;
  return sections
    .map((section) => ({
      ...section,
      exports: section.exports.toSorted((a, b) => match(a) - match(b)),
    }))
    .sort((a, b) => Math.min(...a.exports.map(match)) - Math.min(...b.exports.map(match)));
}

/** The sections cut down to so many Exports in all; those that would be empty are left out. */
export function firstOf(sections: readonly CatalogSection[], limit: number): CatalogSection[] {
  const first: CatalogSection[] = [];
  let left = limit;
  for (const section of sections) {
    if (left <= 0) break;
    const exports = section.exports.slice(0, left);
    first.push({ ...section, exports });
    left -= exports.length;
  }
  return first;
}

import type { Catalog, CatalogExport } from "../../common/api/wire.ts";
import type { Match } from "./search_index.ts";

/** Holds one heading of the catalog, with its Exports. */
export interface CatalogSection {
  readonly key: string;
  readonly title: string;
  readonly description: string;
  readonly exports: readonly CatalogExport[];
}

/** Says which Exports the catalog shows. */
export interface CatalogFilter {
  /** Maps matching Exports to how well they match; undefined means all. */
  readonly found: ReadonlyMap<string, Match> | undefined;
  /** Names one Collection; empty means all. */
  readonly collection: string;
  /** Names the only Exports to show; undefined means all. */
  readonly bound: ReadonlySet<string> | undefined;
}

/** Groups Exports by Collection, and those in no Collection last; leaves out empty sections. */
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

/** Sorts better matches first within a section, and sections with better matches first. */
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

/** Limits the total number of Exports in the sections, and leaves out empty sections. */
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

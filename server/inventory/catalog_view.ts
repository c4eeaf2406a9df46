import type { Catalog } from "../../common/api/wire.ts";
import { type CatalogRights, includes } from "../authorization/catalog_rights.ts";

/** The catalog, with the text of each entry. */
export interface CatalogParts {
  readonly whole: string;
  readonly names: readonly string[];
  readonly exports: readonly ExportPart[];
  readonly collections: readonly CollectionPart[];
}

interface ExportPart {
  readonly name: string;
  readonly open: string;
  /** The entry for those who may see the Export and not bind it. */
  readonly locked: string;
}

interface CollectionPart {
  readonly entry: NonNullable<Catalog["collections"]>[number];
  readonly json: string;
}

/** Encodes each entry of the catalog once. */
export function catalogParts(catalog: Catalog): CatalogParts {
  return {
    whole: JSON.stringify(catalog),
    names: catalog.exports.map(({ name }) => name),
    exports: catalog.exports.map((entry) => ({
      name: entry.name,
      open: JSON.stringify(entry),
      locked: JSON.stringify({ ...entry, bindable: false }),
    })),
    collections: (catalog.collections ?? []).map((entry) => ({
      entry,
      json: JSON.stringify(entry),
    })),
  };
}

/** Puts together what someone with these rights sees, without Collections that would be empty. */
export function catalogFor(parts: CatalogParts, { see, bind }: CatalogRights): string {
  if (see === "all" && bind === "all") return parts.whole;
  const exports = parts.exports.filter(({ name }) => includes(see, name))
    .map(({ name, open, locked }) => bind === "unknown" || includes(bind, name) ? open : locked);
  const collections = parts.collections.flatMap(({ entry, json }) => {
    const shown = entry.exports.filter((name) => includes(see, name));
    if (shown.length === entry.exports.length) return [json];
    return shown.length === 0 ? [] : [JSON.stringify({ ...entry, exports: shown })];
  });
  const more = [
    ...(collections.length > 0 ? [`,"collections":[${collections.join(",")}]`] : []),
    ...(bind === "unknown" ? [',"bindableUnknown":true'] : []),
  ];
  return `{"exports":[${exports.join(",")}]${more.join("")}}`;
}

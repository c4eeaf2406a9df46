import type { Catalog } from "../../common/api/wire.ts";

interface Titled {
  readonly name: string;
  readonly title: string;
}

/** Returns the catalog with the name in place of every invisible title. */
export const titledCatalog = ({ exports, collections, ...rest }: Catalog): Catalog => ({
  ...rest,
  exports: exports.map(titled),
  ...(collections ? { collections: collections.map(titled) } : {}),
});

/** Matches text of only spaces and invisible Unicode characters. */
const UNSEEN = /^[\s\p{C}\p{M}\u115f\u1160\u2800\u3164\uffa0]*$/u;

const titled = <T extends Titled>(entry: T): T =>
  UNSEEN.test(entry.title) ? { ...entry, title: entry.name } : entry;

import type { Catalog } from "../../common/api/wire.ts";

interface Titled {
  readonly name: string;
  readonly title: string;
}

/** The catalog in which everything has a title that can be seen: its name where that is blank. */
export const titledCatalog = ({ exports, collections, ...rest }: Catalog): Catalog => ({
  ...rest,
  exports: exports.map(titled),
  ...(collections ? { collections: collections.map(titled) } : {}),
});

/** Space, and characters of Unicode that are not drawn either. */
const UNSEEN = /^[\s\p{C}\p{M}\u115f\u1160\u2800\u3164\uffa0]*$/u;

const titled = <T extends Titled>(entry: T): T =>
  UNSEEN.test(entry.title) ? { ...entry, title: entry.name } : entry;

import type { Catalog, CatalogExport } from "../../common/api/wire.ts";
import { CliError } from "../cli_error.ts";
import { closest } from "../closest.ts";

/**
 * The Export of this name. Fails where the catalog has one of a similar name only; undefined where
 * it has none, as the gateway may know more of an Export that is not Ready.
 */
export function offerIn({ exports }: Catalog, name: string): CatalogExport | undefined {
  const offer = exports.find((each) => each.name === name);
  if (offer) return offer;
  const meant = closest(name, exports.map((each) => each.name));
  if (meant !== undefined) throw notOffered(name, `Did you mean "${meant}"? `);
  return undefined;
}

/** The failure when an Export is not in the catalog. */
export const notOffered = (name: string, hint = ""): CliError =>
  new CliError(
    "notFound",
    `Cannot bind Export "${name}": the catalog has no such Export`,
    `${hint}See what there is: kubectl bind catalog`,
  );

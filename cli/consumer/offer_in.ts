import type { Catalog, CatalogExport } from "../../common/api/wire.ts";
import { CliError } from "../cli_error.ts";
import { closest } from "../closest.ts";
import { ASK_FOR_PERMISSION } from "../gateway/gateway_error.ts";

/**
 * Finds an Export in the catalog. Fails if the caller may not bind it, and if the catalog has only
 * one with a similar name. Else returns undefined: the gateway may know an Export that is not
 * Ready.
 */
export function offerIn({ exports }: Catalog, name: string): CatalogExport | undefined {
  const offer = exports.find((each) => each.name === name);
  if (offer?.bindable === false) throw notBindable(offer);
  if (offer) return offer;
  const meant = closest(name, exports.map((each) => each.name));
  if (meant !== undefined) throw notOffered(name, `Did you mean "${meant}"? `);
  return undefined;
}

const notBindable = ({ name, docs }: CatalogExport): CliError =>
  new CliError(
    "failure",
    `Cannot bind Export "${name}": you may see it, but not bind it`,
    docs ? `${ASK_FOR_PERMISSION}; its documentation: ${docs}` : ASK_FOR_PERMISSION,
  );

/** Builds the error for an Export that is not in the catalog. */
export const notOffered = (name: string, hint = ""): CliError =>
  new CliError(
    "notFound",
    `Cannot bind Export "${name}": the catalog has no such Export`,
    `${hint}List all Exports: kubectl bind catalog`,
  );

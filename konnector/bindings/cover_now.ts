import { allBindings, connectionFacts, type ConsumerCaches } from "../consumer_caches.ts";
import type { Apis } from "./apis.ts";
import { type ApiCoverage, coverageOf } from "./coverage.ts";

/** What covering works with. */
export interface CoverDeps {
  readonly apis: Apis;
  readonly caches: ConsumerCaches;
}

/** Returns the bindings that cover an API now. */
export const coverageNow = (
  { caches }: Pick<CoverDeps, "caches">,
  api: string,
): ApiCoverage | undefined => coverageOf(api, allBindings(caches), connectionFacts(caches));

/**
 * Gives the sync of an API the bindings that cover it now, and returns them. A pause or an unbind
 * must not wait for the provider, nor for a reconcile that does.
 */
export function coverNow(deps: CoverDeps, api: string): ApiCoverage | undefined {
  const coverage = coverageNow(deps, api);
  const before = deps.apis.get(api);
  const isOther = before !== undefined && before.coverage.connection !== coverage?.connection;
  if (coverage && !isOther) deps.apis.cover(api, coverage);
  return coverage;
}

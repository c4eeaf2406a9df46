import { isDeleting } from "../../common/api/resources.ts";
import { allBindings, type ConsumerCaches } from "../consumer_caches.ts";
import type { Apis } from "./apis.ts";
import type { SchemaFault } from "./install_api.ts";
import type { UnboundApis } from "./unbound_apis.ts";

/**
 * Lists why CRDs of a Connection differ from the provider's. Returns undefined while an API has not
 * been checked.
 */
export function schemaFaults(
  { caches, apis, unbound }: {
    readonly caches: ConsumerCaches;
    readonly apis: Apis;
    readonly unbound: UnboundApis;
  },
  connection: string,
): SchemaFault[] | undefined {
  const faults: SchemaFault[] = [];
  const bound = [...allBindings(caches)]
    .filter((each) => each.spec.connectionRef.name === connection && !isDeleting(each))
    .flatMap(({ spec }) => spec.apis.map(({ name }) => name));
  for (const api of new Set(bound)) {
    const state = apis.get(api);
    if (!state || state.reason === "Pending") return undefined;
    const isOwn = state.coverage.connection === connection;
    if (isOwn && state.schemaFault) faults.push(state.schemaFault);
  }
  for (const api of unbound.wantedBy(connection)) {
    if (apis.get(api)) continue; // it is bound
    if (!unbound.isSettled(api)) return undefined;
    const fault = unbound.fault(api);
    if (fault) faults.push(fault);
  }
  return faults;
}

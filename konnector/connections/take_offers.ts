import type { Connection } from "../../common/api/resources.ts";
import type { ConsumerCaches } from "../consumer_caches.ts";
import { isPulledBy } from "../schema/install_crd.ts";
import { autoBind, type AutoBindDeps } from "./auto_bind.ts";
import type { ConnectionView, Fault } from "./connection_status.ts";
import type { Links } from "./links.ts";
import { MOST_APIS, takeApis } from "./offered_apis.ts";

/** The CRDs of Connections. */
export interface ConnectionSchemas {
  /** Pulls these APIs for a Connection, also if nobody binds them. */
  want(connection: string, names: readonly string[]): void;
  /** Lists why CRDs differ from the provider's; undefined while that is not known. */
  faults(connection: string): readonly Fault[] | undefined;
}

/** What taking offers works with. */
export interface OfferDeps extends AutoBindDeps {
  readonly caches: ConsumerCaches;
  readonly links: Links;
  readonly schema: ConnectionSchemas;
}

/** Binds and pulls what the Connection wants without being asked for each API. */
export async function takeOffers(
  deps: OfferDeps,
  connection: Connection,
  signal: AbortSignal,
): Promise<Pick<ConnectionView, "autoBound" | "schemaFaults">> {
  const { caches, links, schema } = deps;
  const { metadata: { name }, spec } = connection;
  const exported = links.get(name)?.exported().map((api) => api.name) ?? [];
  const pulled = [...caches.crds.values()].filter((crd) => isPulledBy(name, crd))
    .map(({ metadata }) => metadata.name);
  const wanted = spec.schema?.pullPolicy === "All"
    ? takeApis(exported, pulled.filter((api) => exported.includes(api)))
    : { names: [], left: 0 };
  schema.want(name, wanted.names);
  const fault = spec.autoBind === true && await autoBind(deps, connection, exported, signal);
  const faults = schema.faults(name);
  const tooMany = {
    reason: "TooManyAPIs",
    message: `${wanted.left} exported APIs are not pulled: ${MOST_APIS} are the most`,
  };
  return {
    autoBound: spec.autoBind === true ? fault || "done" : undefined,
    schemaFaults: faults && [...faults, ...(wanted.left > 0 ? [tooMany] : [])],
  };
}

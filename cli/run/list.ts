import { forEachAtOnce } from "../../common/time/slots.ts";
import type { Instances } from "../../common/api/wire.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { connectGateway } from "../gateway/connect.ts";
import { GatewayError } from "../gateway/gateway_error.ts";
import type { ListOptions } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import {
  catalogListing,
  clustersListing,
  instancesListing,
  printList,
} from "../terminal/render.ts";
import { whileSpinning } from "../terminal/spinner.ts";

const ASKING = "Asking the gateway";
const LISTS_AT_ONCE = 8;

/** Prints the catalog. */
export const listCatalog = async (io: Io, options: ListOptions): Promise<void> => {
  const gateway = await connectGateway(io, options, "session");
  const catalog = await whileSpinning(io, ASKING, gateway.catalog(io.signal));
  await printList(io, options, catalogListing(catalog));
};

/** Prints the consumer clusters. */
export const listClusters = async (io: Io, options: ListOptions): Promise<void> => {
  const gateway = await connectGateway(io, options, "session");
  const clusters = await whileSpinning(io, ASKING, gateway.clusters(io.signal));
  await printList(io, options, clustersListing(clusters, io.now()));
};

/** Prints the objects of one Export, or of all Exports in the catalog. */
export const listInstances = async (
  io: Io,
  options: ListOptions,
  name: string | undefined,
): Promise<void> => {
  const gateway = await connectGateway(io, options, "session");
  const asked = name === undefined
    ? allInstances(gateway, io.signal)
    : gateway.instances(name, io.signal).then((list) => [list]);
  const lists = await whileSpinning(io, ASKING, asked);
  const of = name === undefined ? "all" : "one";
  await printList(io, options, instancesListing(lists, of, io.now()));
};

/** Reads the objects of every Export in the catalog, in its order. */
const allInstances = async (gateway: GatewayClient, signal: AbortSignal): Promise<Instances[]> => {
  const { exports } = await gateway.catalog(signal);
  const lists = new Map<string, Instances>();
  await forEachAtOnce(exports, LISTS_AT_ONCE, async ({ name }) => {
    try {
      lists.set(name, await gateway.instances(name, signal));
    } catch (error) {
      // The Export was deleted after the catalog was read.
      if (!(error instanceof GatewayError && error.status === 404)) throw error;
    }
  });
  return exports.flatMap(({ name }) => lists.get(name) ?? []);
};

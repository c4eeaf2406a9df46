import { allInstances } from "./all_instances.ts";
import { connectGateway } from "../gateway/connect.ts";
import { exportNameOf } from "../export_name.ts";
import type { Io } from "../terminal/io.ts";
import type { ListOptions } from "../list_flags.ts";
import { printList } from "../terminal/list_output.ts";
import { catalogListing, clustersListing, instancesListing } from "../terminal/render.ts";
import { whileSpinning } from "../terminal/spinner.ts";

const ASKING = "Asking the gateway";

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

/** Prints the objects of one Export, or of all in the catalog. */
export const listInstances = async (
  io: Io,
  options: ListOptions,
  name: string | undefined,
): Promise<void> => {
  const gateway = await connectGateway(io, options, "session");
  const asked = name === undefined
    ? allInstances(gateway, io.signal)
    : gateway.instances(exportNameOf(name), io.signal).then((list) => [list]);
  const lists = await whileSpinning(io, ASKING, asked);
  const of = name === undefined ? "all" : "one";
  await printList(io, options, instancesListing(lists, of, io.now()));
};

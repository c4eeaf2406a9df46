import { VERSION } from "../../common/version.ts";
import { clientOf } from "../gateway/connect.ts";
import { details } from "../terminal/table.ts";
import type { Io } from "../terminal/io.ts";
import { serverText } from "../gateway/server_url.ts";
import { findServer } from "../gateway/settings.ts";
import type { GlobalOptions } from "../options.ts";

/** Prints the version of this client and, if a gateway is known, of the gateway. */
export const versions = async (
  io: Io,
  options: GlobalOptions & { readonly client?: boolean },
): Promise<void> => {
  io.out(details([["Client", VERSION]]));
  if (options.client) return;
  const server = await findServer(io, options);
  if (!server) return io.say("No gateway is known: run kubectl bind login <server-url>");
  const { name, version = "unknown" } = await (await clientOf(io, server)).provider(io.signal);
  io.out(details([["Server", `${version} (${name} at ${serverText(server.base)})`]]));
};

import { connectGateway } from "../gateway/connect.ts";
import { details } from "../terminal/table.ts";
import type { Io } from "../terminal/io.ts";
import { printData } from "../terminal/render.ts";
import { serverText } from "../gateway/server_url.ts";
import type { GlobalOptions } from "../options.ts";

/** Prints the identity of the session. */
export const whoami = async (
  io: Io,
  options: GlobalOptions & { readonly output?: "json" | "yaml" },
): Promise<void> => {
  const gateway = await connectGateway(io, options, "session");
  const me = await gateway.me(io.signal);
  const server = serverText(gateway.base);
  if (options.output) return await printData(io, options.output, { server, ...me });
  io.out(details([
    ["Server", server],
    ["Name", me.displayName],
    ["Subject", me.subject],
    ["Groups", me.groups?.join(", ")],
    ["RBAC user", me.kubernetes?.user],
    ["RBAC groups", me.kubernetes?.groups.join(", ")],
  ]));
};

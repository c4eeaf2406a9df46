import { ConfigError } from "../../common/flags/config_error.ts";
import { CliError } from "../cli_error.ts";
import { closest } from "../closest.ts";
import { GatewayClient } from "./client.ts";
import { GatewayError, loginRemedy } from "./gateway_error.ts";
import type { Io } from "../terminal/io.ts";
import { findServer, type Server } from "./settings.ts";
import type { GlobalOptions } from "../options.ts";
import { serverText } from "./server_url.ts";

/**
 * Creates the client of the gateway that this command line names. `session` requires a token, which
 * the gateway may still refuse. Fails with the way to log in when a token or the server is missing.
 */
export async function connectGateway(
  io: Io,
  options: GlobalOptions,
  need: "session" | "public",
): Promise<GatewayClient> {
  const server = await findServer(io, options);
  if (!server) {
    throw new CliError(
      "loginNeeded",
      "Cannot tell which gateway to ask: nobody has logged in, and --server is not given",
      "Run: kubectl bind login <server-url>",
    );
  }
  if (need === "session" && !server.token) {
    const text = serverText(server.base);
    throw new CliError(
      "loginNeeded",
      `Cannot ask ${text}: nobody is logged in there`,
      loginRemedy({ server: text }),
    );
  }
  return await clientOf(io, server);
}

/** Creates the client of a known gateway. */
export const clientOf = async (io: Pick<Io, "env">, server: Server): Promise<GatewayClient> =>
  new SuggestingClient({
    server: server.base,
    token: server.token,
    tokenFromEnv: server.tokenFromEnv,
    caPem: server.caFile === undefined ? undefined : await readCaFile(server.caFile),
    env: io.env,
  });

/** Suggests the closest Export when the requested one is unknown. */
class SuggestingClient extends GatewayClient {
  override async instances(...args: Parameters<GatewayClient["instances"]>) {
    return await super.instances(...args).catch((error) => this.#suggest(error, ...args));
  }

  async #suggest(error: unknown, name: string, signal: AbortSignal): Promise<never> {
    if (!(error instanceof GatewayError) || error.failure !== "notFound") throw error;
    const catalog = await this.catalog(signal).catch(() => undefined);
    const meant = closest(name, catalog?.exports.map((each) => each.name) ?? []);
    if (meant === undefined) throw error;
    const remedy = `Did you mean "${meant}"? List all Exports: kubectl bind catalog`;
    throw new CliError("notFound", error.message, remedy, { cause: error });
  }
}

const readCaFile = async (path: string): Promise<string> => {
  const { readPemFile } = await import("../../common/flags/pem_file.ts"); // few commands need it
  try {
    return await readPemFile("ca-file", path);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new CliError(
      "usage",
      `Cannot use the certificate authority: ${error.problems.join("; ")}`,
      "Give a file with PEM certificates: --ca-file <file>",
    );
  }
};

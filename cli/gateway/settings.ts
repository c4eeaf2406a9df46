import { Hidden } from "../../common/hidden.ts";
import { CliError } from "../cli_error.ts";
import type { GlobalOptions } from "../options.ts";
import { configPath, readConfig, type SavedConfig } from "./config_file.ts";
import { type Io, platform } from "../terminal/io.ts";
import { parseServerUrl, serverText } from "./server_url.ts";

/** A gateway, and the credentials for it. */
export interface Server {
  readonly base: URL;
  readonly token?: Hidden<string> | undefined;
  /** Whether the token is that of `XBIND_TOKEN`. */
  readonly tokenFromEnv: boolean;
  readonly caFile?: string | undefined;
}

/** Finds the file with this user's sessions. */
export const configPathOf = (io: Pick<Io, "env">): string => configPath(platform(), io.env);

/**
 * Finds the gateway: `--server`, else `XBIND_SERVER`, else the one of the last login. Its token is
 * `XBIND_TOKEN`, else the one of its login. Undefined when no server is known.
 */
export const findServer = async (
  io: Pick<Io, "env">,
  options: GlobalOptions,
): Promise<Server | undefined> => {
  const named = options.server ?? (io.env.XBIND_SERVER || undefined);
  const fromEnv = io.env.XBIND_TOKEN || undefined;
  const saved: SavedConfig = named !== undefined && fromEnv !== undefined
    ? { servers: {} } // in automation neither the file nor a home directory need exist
    : await readConfig(configPathOf(io));
  const text = named ?? saved.current;
  if (text === undefined) return undefined;
  const base = parseServerUrl(text);
  const entry = saved.servers[serverText(base)];
  const token = fromEnv === undefined ? entry?.token : checkedToken(fromEnv);
  return {
    base,
    token: token === undefined ? undefined : new Hidden(token),
    tokenFromEnv: fromEnv !== undefined,
    caFile: options.caFile ?? entry?.caFile,
  };
};

/** Returns whether a text can be a token, which must fit in a header. */
export const isToken = (text: string): boolean => /^[\x21-\x7e]{1,16384}$/.test(text);

const checkedToken = (text: string): string => {
  const token = text.trim();
  if (isToken(token)) return token;
  throw new CliError(
    "usage",
    "Cannot use XBIND_TOKEN: it holds blanks or characters that no token has",
    "Set it to a session token, or unset it",
  );
};

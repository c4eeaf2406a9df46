import { Secret } from "../../common/hidden.ts";
import { CliError } from "../cli_error.ts";
import type { GlobalOptions } from "../options.ts";
import { configPath, readConfig, type SavedConfig } from "./config_file.ts";
import { type Io, platform } from "../terminal/io.ts";
import { parseServerUrl, serverText } from "./server_url.ts";

/** A gateway, and what is known for talking to it. */
export interface Server {
  readonly base: URL;
  readonly token?: Secret<string> | undefined;
  /** Whether the token is that of `XBIND_TOKEN`. */
  readonly tokenFromEnv: boolean;
  readonly caFile?: string | undefined;
}

/** Where this user's sessions are kept. */
export const configPathOf = (io: Pick<Io, "env">): string => configPath(platform(), io.env);

/**
 * The gateway to talk to: `--server`, else `XBIND_SERVER`, else that of the last login; with the
 * token of `XBIND_TOKEN`, else of its login. Undefined when no server is known.
 */
export const findServer = async (
  io: Pick<Io, "env">,
  options: GlobalOptions,
): Promise<Server | undefined> => {
  const named = options.server ?? (io.env.XBIND_SERVER || undefined);
  const fromEnv = io.env.XBIND_TOKEN || undefined;
  const saved: SavedConfig = named !== undefined && fromEnv !== undefined
    ? { servers: {} } // automation: the file, and a home for it, need not exist
    : await readConfig(configPathOf(io));
  const text = named ?? saved.current;
  if (text === undefined) return undefined;
  const base = parseServerUrl(text);
  const entry = saved.servers[serverText(base)];
  const token = fromEnv === undefined ? entry?.token : checkedToken(fromEnv);
  return {
    base,
    token: token === undefined ? undefined : new Secret(token),
    tokenFromEnv: fromEnv !== undefined,
    caFile: options.caFile ?? entry?.caFile,
  };
};

/** Anything else cannot stand in a header, and is no token. */
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

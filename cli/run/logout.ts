import { readConfig, type SavedConfig, updateConfig } from "../gateway/config_file.ts";
import type { Io } from "../terminal/io.ts";
import { parseServerUrl, serverText } from "../gateway/server_url.ts";
import { configPathOf } from "../gateway/settings.ts";
import type { GlobalOptions } from "../options.ts";

/** Deletes one saved session, or all, without a call to the gateway. */
export const logout = async (
  io: Io,
  options: GlobalOptions & { readonly all?: boolean },
): Promise<void> => {
  const path = configPathOf(io);
  const saved = await readConfig(path);
  const named = options.server ?? (io.env.XBIND_SERVER || saved.current);
  const leaving = options.all
    ? Object.keys(saved.servers)
    : named === undefined
    ? []
    : [serverText(parseServerUrl(named))].filter((server) => saved.servers[server]);
  if (leaving.length === 0) {
    return io.say(
      named === undefined ? "You are not logged in." : `You are not logged in to ${named}.`,
    );
  }
  await updateConfig(path, (config) => without(config, leaving));
  for (const server of leaving) io.say(`Logged out of ${server}.`);
  io.say("Copies of the session token and your bound Exports stay valid.");
  if (io.env.XBIND_TOKEN) io.say("XBIND_TOKEN is still set and still used.");
};

const without = (config: SavedConfig, leaving: readonly string[]): SavedConfig => {
  const { current, servers } = config;
  const left = Object.entries(servers).filter(([server]) => !leaving.includes(server));
  return {
    ...(current !== undefined && !leaving.includes(current) ? { current } : {}),
    servers: Object.fromEntries(left),
  };
};

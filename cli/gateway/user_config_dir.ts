import { posix, win32 } from "node:path";
import type { Environment } from "../../common/http/proxy_for.ts";
import { CliError } from "../cli_error.ts";
import type { Platform } from "../terminal/io.ts";

/** Where programs keep the settings of this user, by the custom of the system. */
export const userConfigDir = (platform: Platform, env: Environment): string => {
  if (platform === "windows") return required(env.APPDATA, "APPDATA");
  const xdg = env.XDG_CONFIG_HOME;
  // A relative one is to be ignored, says the convention.
  if (platform === "linux" && xdg?.startsWith("/")) return xdg;
  const home = required(env.HOME, "HOME");
  return posix.join(
    home,
    ...(platform === "darwin" ? ["Library", "Application Support"] : [".config"]),
  );
};

/** The file with this user's sessions. */
export const configPath = (platform: Platform, env: Environment): string =>
  (platform === "windows" ? win32 : posix)
    .join(userConfigDir(platform, env), "xbind", "config.json");

const required = (value: string | undefined, variable: string): string => {
  if (value) return value;
  throw new CliError(
    "usage",
    `Cannot find your configuration: ${variable} is not set`,
    `Set ${variable}, or use XBIND_SERVER and XBIND_TOKEN`,
  );
};

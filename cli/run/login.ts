import { resolve as absolutePath } from "node:path";
import { isSessionToken } from "../../common/api/session_token.ts";
import type { Identity } from "../../common/api/wire.ts";
import { deadline } from "../../common/time/deadline.ts";
import { Hidden } from "../../common/hidden.ts";
import { CliError } from "../cli_error.ts";
import { readConfig, updateConfig } from "../gateway/config_file.ts";
import { clientOf } from "../gateway/connect.ts";
import type { LoginIo } from "../terminal/io.ts";
import { type AcceptToken, startLoginListener } from "./login_listener.ts";
import { parseServerUrl, serverText } from "../gateway/server_url.ts";
import { configPathOf, isToken } from "../gateway/settings.ts";
import type { GlobalOptions } from "../options.ts";

/** The flags of `kubectl bind login`. */
export interface LoginOptions extends GlobalOptions {
  /** False with `--no-browser`. */
  readonly browser: boolean;
}

const LOGIN_MS = 5 * 60_000;

interface Session {
  readonly token: string;
  readonly me: Identity;
}

/** Logs in through the browser, and saves the session that the gateway has confirmed. */
export const login = async (
  io: LoginIo,
  given: string | undefined,
  options: LoginOptions,
): Promise<void> => {
  const path = configPathOf(io);
  const saved = await readConfig(path); // fail on a damaged file before the login
  const base = serverToLogInTo(given, options, io.env.XBIND_SERVER || saved.current);
  const server = serverText(base);
  const caFile = options.caFile === undefined
    ? saved.servers[server]?.caFile
    : absolutePath(options.caFile);
  const reach = { base, caFile, tokenFromEnv: false };
  const gateway = await clientOf(io, reach);
  const provider = await gateway.provider(io.signal); // fail on a wrong address before the login
  if (isUnencrypted(base)) {
    io.say(`warning: ${server} is not encrypted; others can read the traffic`);
  }

  const check = async (token: string): Promise<Identity | undefined> => {
    const client = await clientOf(io, { ...reach, token: new Hidden(token) });
    return await client.me(io.signal).catch((error) => {
      if (error instanceof CliError && error.failure === "loginNeeded") return undefined;
      throw error;
    });
  };
  const { token, me } = await waitForSession(io, server, options, check);
  await updateConfig(path, (config) => ({
    current: server,
    servers: { ...config.servers, [server]: { token, ...(caFile ? { caFile } : {}) } },
  }));
  io.say(`Logged in to ${provider.name} (${server}) as ${me.displayName ?? me.subject}.`);
  if (io.env.XBIND_TOKEN) {
    io.say("warning: XBIND_TOKEN is set, and is used instead of this session");
  }
};

const serverToLogInTo = (
  given: string | undefined,
  { server }: GlobalOptions,
  known: string | undefined,
): URL => {
  const text = given ?? server ?? known;
  if (text === undefined) {
    throw new CliError(
      "usage",
      "Cannot log in: no gateway is given",
      "Run: kubectl bind login <server-url>",
    );
  }
  const base = parseServerUrl(text);
  if (server !== undefined && parseServerUrl(server).href !== base.href) {
    throw new CliError(
      "usage",
      "Cannot log in: the URL and --server name different gateways",
      "Give only one of them",
    );
  }
  return base;
};

/** Waits for the first session that the gateway confirms, from the browser or from stdin. */
const waitForSession = async (
  io: LoginIo,
  server: string,
  options: LoginOptions,
  check: (token: string) => Promise<Identity | undefined>,
): Promise<Session> => {
  using limit = deadline(LOGIN_MS, io.signal, tooLate(server));
  const { promise, resolve, reject } = Promise.withResolvers<Session>();
  const onAbort = () => reject(limit.signal.reason);
  limit.signal.addEventListener("abort", onAbort, { once: true });
  const accept: AcceptToken = async (token) => {
    try {
      const isSession = isToken(token) && isSessionToken(token);
      const me = isSession ? await check(token) : undefined;
      if (me) resolve({ token, me });
      else io.say(isSession ? "The gateway does not accept that session." : NO_SESSION);
      return me !== undefined;
    } catch (error) {
      reject(error);
      throw error;
    }
  };
  const pasting = new AbortController();
  await using listener = await startLoginListener(accept);
  const url = `${server}/api/auth/oidc/login?redirect=${encodeURIComponent(listener.redirect)}`;
  io.out([url]);
  const opened = options.browser && canShowBrowser(io) && await io.openBrowser(url);
  io.say(opened ? "Finish the login in your browser." : "Open this URL in a browser.");
  io.say("If the browser cannot reach this machine, paste the URL of its last page here.");
  const pasted = readPasted(io, accept, pasting.signal);
  try {
    return await promise;
  } finally {
    limit.signal.removeEventListener("abort", onAbort);
    pasting.abort();
    await pasted;
  }
};

/** A provider token is not saved, because it has another lifetime than a session. */
const NO_SESSION = "That token is not a gateway session, and is not stored. " +
  "To use a token of the provider, set XBIND_TOKEN to it instead of logging in.";

/** Returns whether the user would see a browser that opens on this machine. */
const canShowBrowser = ({ env, platform }: Pick<LoginIo, "env" | "platform">): boolean => {
  if (env.SSH_CONNECTION || env.SSH_TTY) return false;
  return platform !== "linux" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
};

/** Tries each pasted line; the end of stdin does not end the login. */
const readPasted = async (
  io: LoginIo,
  accept: AcceptToken,
  signal: AbortSignal,
): Promise<void> => {
  try {
    for await (const line of io.lines(signal)) {
      if (line.trim() === "") continue;
      const token = pastedToken(line);
      if (token === undefined) io.say("That contains no token: paste the URL with “token=” in it.");
      else await accept(token);
    }
  } catch {
    // Either the login has failed already, or stdin cannot be read.
  }
};

/** Shorter than any token, so a typed word is not sent to the gateway. */
const MIN_TOKEN_LENGTH = 20;

/** Finds the token in a pasted line: the token, or the URL that the browser could not open. */
export const pastedToken = (line: string): string | undefined => {
  const text = line.trim().replace(/^["']|["']$/g, "");
  const token = URL.canParse(text) ? new URL(text).searchParams.get("token") : text;
  return token !== null && token.length >= MIN_TOKEN_LENGTH && isToken(token) ? token : undefined;
};

const isUnencrypted = ({ protocol, hostname }: URL): boolean =>
  protocol === "http:" && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);

const tooLate = (server: string): CliError =>
  new CliError(
    "timeout",
    `Cannot log in to ${server}: the login was not finished within 5 minutes`,
    `Run again: kubectl bind login ${server}`,
  );

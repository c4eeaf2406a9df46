import { ConfigError } from "../common/flags/config_error.ts";
import { flagHelp } from "../common/flags/flag_help.ts";
import { FLAG_GROUPS, FLAGS } from "./flag_table.ts";
import { configKey, type ConfigOf } from "../common/flags/flag_kinds.ts";
import { parseFlags } from "../common/flags/parse_flags.ts";
import { formatDuration } from "../common/time/duration.ts";
import type { LogSettings } from "../common/log/log.ts";
import { Hidden } from "../common/hidden.ts";

/** Holds the settings of one process, frozen; flag_table.ts lists them. */
export type Config = ConfigOf<typeof FLAGS>;

/** Says what the command line asks for: run, help or version. */
export type Invocation =
  | { readonly kind: "run"; readonly config: Config }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "version" };

/** Introduces the backend in its help. */
export const PROGRAM = {
  name: "xbind-backend",
  purpose: "The provider side of xbind: catalog, login, credential issuance and inventory.",
  success: "stopped by SIGTERM or SIGINT, or nothing to do after installing the CRDs",
};

/** Reads flags and `XBIND_*` variables, or throws one ConfigError that lists every problem. */
export const parseConfig = (
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Invocation => {
  const { action, values, failed, problems } = parseFlags(FLAGS, args, env);
  if (action === "help") return { kind: "help", text: flagHelp(PROGRAM, FLAG_GROUPS) };
  if (action === "version") return { kind: "version" };
  const entries = Object.entries(FLAGS)
    .map(([name, flag]) => [configKey(name, flag), values.get(name)]);
  // ConfigOf derives the type from the same table as these entries.
  const config = Object.freeze(Object.fromEntries(entries) as Config);
  const combined = COMBINATIONS
    // A bad value is reported already, so a combination with it cannot be judged.
    .filter(({ reads }) => !reads.some((name) => failed.has(name)))
    .filter(({ isWrong }) => isWrong(config))
    .map(({ problem }) => problem);
  const all = [...problems, ...combined];
  if (all.length > 0) throw new ConfigError(all);
  return { kind: "run", config };
};

interface Combination {
  readonly reads: readonly (keyof typeof FLAGS)[];
  readonly isWrong: (config: Config) => boolean;
  readonly problem: string;
}

const usesOidc = (config: Config) => config.enableGateway && !config.oidcMock;

const COMBINATIONS: readonly Combination[] = [
  {
    reads: ["oidc-issuer-url", "enable-gateway", "oidc-mock"],
    isWrong: (config) => usesOidc(config) && config.oidcIssuerUrl === "",
    problem: "--oidc-issuer-url is required with --enable-gateway: " +
      "name the OIDC issuer, or use --oidc-mock for development",
  },
  {
    reads: ["oidc-client-id", "enable-gateway", "oidc-mock"],
    isWrong: (config) => usesOidc(config) && config.oidcClientId === "",
    problem: "--oidc-client-id is required with --enable-gateway: " +
      "name the OIDC client, or use --oidc-mock for development",
  },
  {
    reads: ["enable-apply", "enable-gateway"],
    isWrong: (config) => config.enableApply && !config.enableGateway,
    problem: "--enable-apply needs --enable-gateway: the route belongs to the gateway",
  },
  {
    reads: ["enable-gateway", "enable-issuer", "enable-reaper", "install-crds"],
    isWrong: (config) =>
      !config.enableGateway && !config.enableIssuer && !config.enableReaper && !config.installCrds,
    problem: "there is nothing to do: enable a module (--enable-gateway, --enable-issuer, " +
      "--enable-reaper) or --install-crds",
  },
];

const SAFE_SIGNING_KEY_BYTES = 32;

/** Creates the Secret for the chart's `cookieKeys.existingSecret`. */
export const MAKE_COOKIE_KEYS = "kubectl create secret generic xbind-cookie-keys " +
  "--from-literal=signing-key=$(openssl rand -base64 32) " +
  "--from-literal=encryption-key=$(openssl rand -base64 32)";

/** Returns one sentence for each risky or useless setting, for the log at start. */
export const configWarnings = (config: Config): readonly string[] => {
  const signingKey = config.cookieSigningKey?.reveal();
  const gatewayWarnings: readonly [boolean, string][] = [
    [
      config.oidcMock,
      "--oidc-mock signs EVERYBODY in without a password: never use it outside development",
    ],
    [
      signingKey === undefined,
      "--cookie-signing-key is not set: sessions end with this process and work on one replica only",
    ],
    [
      config.cookieEncryptionKey === undefined,
      "--cookie-encryption-key is not set: sessions end with this process and work on one replica only",
    ],
    [
      config.leaderElect && !(signingKey && config.cookieEncryptionKey),
      "--leader-elect means several replicas, and each has its own cookie keys: users are " +
      `signed out at random; give all replicas the same keys, made by ${MAKE_COOKIE_KEYS}`,
    ],
    [
      signingKey !== undefined && signingKey.length < SAFE_SIGNING_KEY_BYTES,
      `--cookie-signing-key is short (${signingKey?.length} bytes): use 32 or 64 bytes`,
    ],
    [
      usesOidc(config) && /^http:/i.test(config.oidcIssuerUrl),
      "--oidc-issuer-url is not https: an attacker on the network can sign in as anyone",
    ],
    [
      usesOidc(config) && !config.oidcScopes.includes("openid"),
      "--oidc-scopes lacks openid: the issuer may not send an ID token, and logins fail without one",
    ],
  ];
  const otherWarnings: readonly [boolean, string][] = [
    [
      config.reaperDeleteBoundary && !config.reaperRevoke,
      "--reaper-delete-boundary has no effect without --reaper-revoke",
    ],
  ];
  return [...(config.enableGateway ? gatewayWarnings : []), ...otherWarnings]
    .filter(([applies]) => applies)
    .map(([, warning]) => warning);
};

/** Returns the settings that differ from their defaults, as text by flag name, without secrets. */
export const describeConfig = (config: Config): Readonly<Record<string, string>> => {
  const values = new Map<string, unknown>(Object.entries(config));
  return Object.fromEntries(
    Object.entries(FLAGS).flatMap(([name, flag]) => {
      const byDefault = flag.parse(flag.defaultText);
      const defaultText = "value" in byDefault ? settingText(byDefault.value, flag.unit) : "";
      const actual = settingText(values.get(configKey(name, flag)), flag.unit);
      return actual === defaultText ? [] : [[name, actual]];
    }),
  );
};

const settingText = (value: unknown, unit: string): string => {
  if (value === undefined) return "";
  if (value instanceof Hidden) return "[set]";
  if (typeof value === "number" && unit === "Ms") return formatDuration(value);
  return String(value); // a list joins its items with commas
};

/** Builds the settings of the log from the logging flags. */
export const logSettings = (
  config: Pick<
    Config,
    "zapDevel" | "zapEncoder" | "zapLogLevel" | "zapStacktraceLevel" | "zapTimeEncoding"
  >,
): LogSettings => ({
  encoder: config.zapEncoder || (config.zapDevel ? "console" : "json"),
  level: logLevelOf(config.zapLogLevel) ?? (config.zapDevel ? "debug" : "info"),
  stacktraceLevel: config.zapStacktraceLevel || (config.zapDevel ? "warn" : "error"),
  timeEncoding: config.zapTimeEncoding,
});

const logLevelOf = (text: string): LogSettings["level"] | undefined => {
  if (text === "debug" || text === "info" || text === "error") return text;
  return text === "" ? undefined : Number(text);
};

import type { Program } from "../common/flags/flag_help.ts";
import type { ConfigOf } from "../common/flags/flag_kinds.ts";
import {
  type Combination,
  type Invocation,
  parseInvocation,
} from "../common/flags/parse_invocation.ts";
import { FLAG_GROUPS, FLAGS } from "./flag_table.ts";

/** Holds the settings of one process, frozen; flag_table.ts lists them. */
export type Config = ConfigOf<typeof FLAGS>;

/** Introduces the backend in its help. */
export const PROGRAM: Program = {
  name: "xbind-backend",
  purpose: "The provider side of xbind: catalog, login, credential issuance and inventory.",
  success: "stopped by SIGTERM or SIGINT, or nothing to do after installing the CRDs",
};

const usesOidc = (config: Config) => config.enableGateway && !config.oidcMock;

const COMBINATIONS: readonly Combination<typeof FLAGS>[] = [
  {
    reads: ["oidc-issuer-url", "enable-gateway", "oidc-mock"],
    isWrong: (config) => usesOidc(config) && config.oidcIssuerUrl === "",
    problem: "--oidc-issuer-url is required with --enable-gateway: " +
      "name the identity provider, or use --oidc-mock for development",
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
    reads: ["authorization", "enable-gateway", "enable-issuer"],
    isWrong: (config) =>
      config.authorization === "Kubernetes" && !config.enableGateway && !config.enableIssuer,
    problem: "--authorization=Kubernetes needs --enable-gateway or --enable-issuer: " +
      "only these ask who may do what",
  },
  {
    reads: ["authorization-revoke", "authorization"],
    isWrong: (config) => config.authorizationRevoke && config.authorization !== "Kubernetes",
    problem: "--authorization-revoke needs --authorization=Kubernetes",
  },
  {
    reads: ["authorization-revoke", "enable-issuer"],
    isWrong: (config) => config.authorizationRevoke && !config.enableIssuer,
    problem: "--authorization-revoke needs --enable-issuer: the issuer takes the rights away",
  },
  {
    reads: ["enable-gateway", "enable-issuer", "enable-reaper", "install-crds"],
    isWrong: (config) =>
      !config.enableGateway && !config.enableIssuer && !config.enableReaper && !config.installCrds,
    problem: "there is nothing to do: enable a module (--enable-gateway, --enable-issuer, " +
      "--enable-reaper) or --install-crds",
  },
];

/** Reads flags and `XBIND_*` variables, or throws one ConfigError that lists every problem. */
export const parseConfig = (
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Invocation<Config> =>
  parseInvocation(
    { program: PROGRAM, flags: FLAGS, groups: FLAG_GROUPS, combinations: COMBINATIONS },
    args,
    env,
  );

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
      config.authorization === "Kubernetes" && config.enableGateway && !config.oidcMock &&
      config.oidcGroupsClaim === "",
      "--authorization=Kubernetes without --oidc-groups-claim: RBAC can name users, but no groups",
    ],
    [
      config.reaperDeleteBoundary && !config.reaperRevoke,
      "--reaper-delete-boundary has no effect without --reaper-revoke",
    ],
  ];
  return [...(config.enableGateway ? gatewayWarnings : []), ...otherWarnings]
    .filter(([applies]) => applies)
    .map(([, warning]) => warning);
};

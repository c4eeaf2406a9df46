import {
  apiServerUrl,
  baseUrl,
  cidr,
  dnsSubdomain,
  file,
  image,
  keyBytes,
  listenAddress,
  listenAddressOrOff,
  logLevel,
  loopbackAddress,
  plainUrl,
  redirectUrl,
  scope,
} from "../common/flags/flag_values.ts";
import { duration, flag, list, number, oneOf, secret, text } from "../common/flags/flag_kinds.ts";
import { KONNECTOR_IMAGE } from "../common/api/names.ts";

const LONGEST_TIMER_MS = 24 * 24 * 3_600_000; // a JavaScript timer beyond 24.8 days fires at once

const MODULES = {
  "enable-gateway": flag(
    true,
    "Serve the HTTP API, the browser UI, login, catalog, bundle pickup and inventories",
  ),
  "enable-issuer": flag(true, "Turn Grants into Kubernetes credentials and validate Exports"),
  "enable-reaper": flag(false, "Mark Grants whose consumer went silent"),
  "enable-apply": flag(
    false,
    "Add POST /api/apply to the gateway: it applies bundles with kubeconfigs that callers submit",
  ),
  "install-crds": flag(
    true,
    "Install or refresh the catalog.xbind.io and iam.xbind.io CRDs at start, whatever the modules",
  ),
} as const;

const GATEWAY = {
  "listen-address": text(
    ":8080",
    "Address of the HTTP server; port 0 takes a free one",
    listenAddress,
  ),
  "external-url": text(
    "",
    "Public base URL of the gateway; empty means http://localhost with the port listened on",
    baseUrl,
  ),
  "provider-name": text("xbind", "Name of this provider as people see it"),
  "konnector-image": text(
    KONNECTOR_IMAGE,
    "Image in the konnector manifests; pin it, as latest is not tied to this version",
    image,
  ),
  "pickup-ttl": duration("5m", "Lifetime of an unused pickup URL; the credential lives on"),
  "rate-limit": number(
    0,
    "Requests a second allowed to one caller: an identity, or without one an address; 0 sets no limit",
  ),
} as const;

const LOGIN = {
  "oidc-issuer-url": text(
    "",
    "OIDC issuer to discover; required for the gateway without --oidc-mock",
    plainUrl,
  ),
  "oidc-client-id": text("", "OIDC client id; required for the gateway without --oidc-mock"),
  "oidc-client-secret": secret(
    "text",
    "Secret of a confidential OIDC client; empty means a public client with PKCE",
    (value) => ({ value }),
  ),
  "oidc-ca-file": text(
    "",
    "PEM bundle of the CAs trusted for the OIDC issuer, instead of the system's roots",
    file,
  ),
  "oidc-username-claim": text(
    "sub",
    "Claim that makes the subject, a nonempty string; changing it makes new identities",
  ),
  "oidc-groups-claim": text(
    "",
    "Claim with the groups, a string or a list of strings; empty means no groups",
  ),
  "oidc-scopes": list("openid,profile,email", "Scopes to ask for", scope),
  "oidc-redirect-url": text(
    "",
    "Callback URL registered with the issuer; empty means <external-url>/api/auth/oidc/callback",
    redirectUrl,
  ),
  "oidc-mock": flag(
    false,
    "Replace OIDC by a built-in issuer that signs everybody in as one mock user; for development only",
  ),
  "oidc-mock-listen": text(
    "",
    "Loopback address of the mock issuer; empty takes a free port",
    loopbackAddress,
  ),
  "kubernetes-auth": flag(
    false,
    "Also accept bearer tokens of the provider cluster, checked by token review",
  ),
} as const;

const SESSIONS = {
  "session-ttl": duration("12h", "Lifetime of the session token and its cookie"),
  "cookie-signing-key": secret(
    "base64",
    "HMAC key of sessions, 32 or 64 bytes; empty makes a random one that ends with the process",
    keyBytes(),
  ),
  "cookie-encryption-key": secret(
    "base64",
    "AES key of sessions, 16, 24 or 32 bytes; empty makes a random one that ends with the process",
    keyBytes([16, 24, 32]),
  ),
} as const;

const CREDENTIALS = {
  "issuer-scope": oneOf(
    ["Cluster", "Namespace"],
    "Where the API permissions of a Grant apply: everywhere, or only in the boundary namespace",
  ),
  "external-address": text(
    "",
    "Provider API URL (https) in issued kubeconfigs, for consumers; empty takes the one in use here",
    apiServerUrl,
  ),
  "external-ca-file": text(
    "",
    "PEM CA in issued kubeconfigs; empty takes ca.crt of the token Secret",
    file,
  ),
} as const;

const REAPER = {
  "reaper-ttl": duration("30m", "Silence after which a Grant is stale"),
  "reaper-interval": duration("1m", "Time between two sweeps", LONGEST_TIMER_MS),
  "reaper-revoke": flag(
    false,
    "Delete stale Grants, upon which the issuer revokes the credentials",
  ),
  "reaper-delete-boundary": flag(
    false,
    "With --reaper-revoke, also delete a boundary namespace that no other Grant uses",
  ),
  "reaper-hold-percent": number(
    20,
    "Revoke nothing while more than this part of the consumers, and more than 5, fell silent within half an hour; 100 never holds",
    100,
  ),
  "reaper-max-percent": number(
    10,
    "Most Grants that one sweep revokes, in percent of all Ready Grants; 5 are always allowed",
    100,
  ),
} as const;

const APPLY = {
  "apply-deny-cidrs": list(
    "169.254.0.0/16,fe80::/10,fd00:ec2::254/128",
    "Addresses that submitted kubeconfigs must not lead to",
    cidr,
  ),
  "apply-allow-insecure-tls": flag(
    false,
    "Accept insecure-skip-tls-verify in submitted kubeconfigs",
  ),
} as const;

const MANAGER = {
  "kubeconfig": text(
    "",
    "Kubeconfig of the provider cluster; empty means KUBECONFIG, then the in-cluster account, then ~/.kube/config",
    file,
  ),
  "metrics-bind-address": text(
    ":8086",
    "Address of /metrics, served with the issuer or the reaper; 0 switches it off",
    listenAddressOrOff,
  ),
  "health-probe-bind-address": text(
    ":8082",
    "Address of /healthz and /readyz, served with the issuer or the reaper; 0 switches it off",
    listenAddressOrOff,
  ),
  "leader-elect": flag(false, "Let only one replica at a time run issuer and reaper"),
  "leader-election-id": text("backend.xbind.io", "Name of the leader-election Lease", dnsSubdomain),
} as const;

const LOGGING = {
  "zap-devel": flag(
    false,
    "Development logging: encoder console, level debug, stacks from warnings on",
  ),
  "zap-encoder": oneOf(
    ["", "json", "console"],
    "Form of log lines; empty means json, or console with --zap-devel",
  ),
  "zap-log-level": text(
    "",
    "Least severe lines to write: debug, info, error, or a number, 1 being debug; empty means info, or debug with --zap-devel",
    logLevel,
  ),
  "zap-stacktrace-level": oneOf(
    ["", "info", "warn", "error", "panic"],
    "Lines from this level on show the stack of their error; panic shows none; empty means error, or warn with --zap-devel",
  ),
  "zap-time-encoding": oneOf(
    ["iso8601", "epoch", "millis", "nano", "rfc3339", "rfc3339nano"],
    "Form of times in log lines, in UTC",
  ),
} as const;

/** All flags under the headings that the help and docs/flags.md give them. */
export const FLAG_GROUPS = {
  Modules: MODULES,
  Gateway: GATEWAY,
  Login: LOGIN,
  Sessions: SESSIONS,
  "Issued credentials": CREDENTIALS,
  Reaper: REAPER,
  "Browser apply": APPLY,
  "Cluster and manager": MANAGER,
  Logging: LOGGING,
} as const;

/** The one table of flags: parsing, `--help`, docs/flags.md and `Config` come from it. */
export const FLAGS = {
  ...MODULES,
  ...GATEWAY,
  ...LOGIN,
  ...SESSIONS,
  ...CREDENTIALS,
  ...REAPER,
  ...APPLY,
  ...MANAGER,
  ...LOGGING,
} as const;

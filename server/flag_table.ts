import { LOGGING_FLAGS, managerFlags } from "../common/flags/common_flags.ts";
import {
  apiServerUrl,
  baseUrl,
  cidr,
  file,
  image,
  keyBytes,
  listenAddress,
  loopbackAddress,
  namePrefix,
  plainUrl,
  redirectUrl,
  scope,
} from "../common/flags/flag_values.ts";
import { duration, flag, list, number, oneOf, secret, text } from "../common/flags/flag_kinds.ts";
import { KONNECTOR_IMAGE } from "../common/api/names.ts";

/** JavaScript timers overflow after 24.8 days, and fire at once. */
const LONGEST_TIMER_MS = 24 * 24 * 3_600_000;

const MODULES = {
  "enable-gateway": flag(
    true,
    "Serve the HTTP API, the browser UI, login, catalog, bundle pickup and inventories",
  ),
  "enable-issuer": flag(true, "Turn Grants into Kubernetes credentials and validate Exports"),
  "enable-reaper": flag(false, "Mark Grants whose consumer stopped sending heartbeats as stale"),
  "enable-apply": flag(
    false,
    "Add POST /api/apply to the gateway, which applies bundles to a cluster with the caller's kubeconfig",
  ),
  "install-crds": flag(
    true,
    "Install or update the catalog.xbind.io and iam.xbind.io CRDs at start, with any set of modules",
  ),
} as const;

const GATEWAY = {
  "listen-address": text(
    ":8080",
    "Address of the HTTP server; port 0 picks a free port",
    listenAddress,
  ),
  "external-url": text(
    "",
    "Public base URL of the gateway; empty means http://localhost with the server's port",
    baseUrl,
  ),
  "provider-name": text("xbind", "Name of this provider, shown to users"),
  "konnector-image": text(
    KONNECTOR_IMAGE,
    "Image in the konnector manifests; pin it, because latest may not match this version",
    image,
  ),
  "pickup-ttl": duration(
    "5m",
    "How long an unused pickup URL is valid; the credential itself does not expire",
  ),
  "rate-limit": number(
    0,
    "Requests per second allowed to one caller (an identity, or an address before sign-in); 0 means no limit",
  ),
} as const;

const LOGIN = {
  "oidc-issuer-url": text(
    "",
    "URL of the identity provider, used for discovery; required for the gateway without --oidc-mock",
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
    "PEM file with the CAs trusted for the identity provider, instead of the system's roots",
    file,
  ),
  "oidc-username-claim": text(
    "sub",
    "Claim used as the subject, a nonempty string; changing it gives every user a new identity",
  ),
  "oidc-groups-claim": text(
    "",
    "Claim with the groups, a string or a list of strings; empty means no groups",
  ),
  "oidc-scopes": list("openid,profile,email", "Scopes to request", scope),
  "oidc-redirect-url": text(
    "",
    "Callback URL registered with the identity provider; empty means <external-url>/api/auth/oidc/callback",
    redirectUrl,
  ),
  "oidc-mock": flag(
    false,
    "Use a built-in mock identity provider that signs everybody in as the same user; for development only",
  ),
  "oidc-mock-listen": text(
    "",
    "Loopback address of the mock identity provider; empty picks a free port",
    loopbackAddress,
  ),
  "kubernetes-auth": flag(
    false,
    "Also accept bearer tokens of the provider cluster, checked with TokenReview",
  ),
} as const;

const AUTHORIZATION = {
  "authorization": oneOf(
    ["None", "Kubernetes"],
    "Who may see and bind what: every signed-in caller everything (None), or what the provider's RBAC allows (Kubernetes)",
  ),
  "authorization-user-prefix": text(
    "xbind:",
    "Put before the subject of a signed-in caller to make the user name that RBAC knows; ends with : or /",
    namePrefix,
  ),
  "authorization-group-prefix": text(
    "xbind:",
    "Put before each group of a signed-in caller to make the group name that RBAC knows; ends with : or /",
    namePrefix,
  ),
  "authorization-revoke": flag(
    false,
    "Take the rights of a Grant away while RBAC does not let its owner bind the Export; they return with the permission",
  ),
} as const;

const SESSIONS = {
  "session-ttl": duration("12h", "How long the session token and its cookie are valid"),
  "cookie-signing-key": secret(
    "base64",
    "HMAC key of sessions, 32 or 64 bytes; empty means a random key, lost when the process ends",
    keyBytes(),
  ),
  "cookie-encryption-key": secret(
    "base64",
    "AES key of sessions, 16, 24 or 32 bytes; empty means a random key, lost when the process ends",
    keyBytes([16, 24, 32]),
  ),
} as const;

const CREDENTIALS = {
  "issuer-scope": oneOf(
    ["Cluster", "Namespace"],
    "Where the API permissions of a Grant apply: in the whole cluster, or only in the boundary namespace",
  ),
  "external-address": text(
    "",
    "URL (https) of the provider's API server in issued kubeconfigs; empty means the URL that the backend uses",
    apiServerUrl,
  ),
  "external-ca-file": text(
    "",
    "PEM file with the CA in issued kubeconfigs; empty means ca.crt of the token Secret",
    file,
  ),
} as const;

const REAPER = {
  "reaper-ttl": duration("30m", "Time without a heartbeat after which a Grant is stale"),
  "reaper-interval": duration(
    "1m",
    "Time between two sweeps; with --authorization=Kubernetes also between two checks of all Grants' permissions by the issuer",
    LONGEST_TIMER_MS,
  ),
  "reaper-revoke": flag(
    false,
    "Delete stale Grants; the issuer then revokes their credentials",
  ),
  "reaper-delete-boundary": flag(
    false,
    "With --reaper-revoke, also delete boundary namespaces that no other Grant uses",
  ),
  "reaper-hold-percent": number(
    20,
    "Delete no Grant while more than this percentage of consumers, and more than 5, fell silent within half an hour; 100 never holds; limits --authorization-revoke likewise",
    100,
  ),
  "reaper-max-percent": number(
    10,
    "Delete at most this percentage of all Ready Grants in one sweep; 5 Grants are always allowed; limits --authorization-revoke likewise",
    100,
  ),
} as const;

const APPLY = {
  "apply-deny-cidrs": list(
    "169.254.0.0/16,fe80::/10,fd00:ec2::254/128",
    "Addresses that submitted kubeconfigs must not point to",
    cidr,
  ),
  "apply-allow-insecure-tls": flag(
    false,
    "Accept insecure-skip-tls-verify in submitted kubeconfigs",
  ),
} as const;

const MANAGER = managerFlags({
  cluster: "provider",
  metricsAddress: ":8086",
  probeAddress: ":8082",
  servedIf: ", served if the issuer or the reaper is enabled",
  led: "the issuer and the reaper",
  leaseName: "backend.xbind.io",
});

/** Groups the flags under the headings of the help and docs/flags.md. */
export const FLAG_GROUPS = {
  Modules: MODULES,
  Gateway: GATEWAY,
  Login: LOGIN,
  Authorization: AUTHORIZATION,
  Sessions: SESSIONS,
  "Issued credentials": CREDENTIALS,
  Reaper: REAPER,
  "Browser apply": APPLY,
  "Cluster and manager": MANAGER,
  Logging: LOGGING_FLAGS,
} as const;

/** Lists every flag once: parsing, `--help`, docs/flags.md and `Config` come from this table. */
export const FLAGS = {
  ...MODULES,
  ...GATEWAY,
  ...LOGIN,
  ...AUTHORIZATION,
  ...SESSIONS,
  ...CREDENTIALS,
  ...REAPER,
  ...APPLY,
  ...MANAGER,
  ...LOGGING_FLAGS,
} as const;

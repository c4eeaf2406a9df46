import { Buffer } from "node:buffer";
import { kubeconfigRejected as refuse } from "../errors.ts";
import type { KubeTarget, TargetAuth } from "../../common/kube/kube_target.ts";
import { tlsFault } from "../../common/kube/tls_fault.ts";
import { parseUntrustedYaml } from "../../common/untrusted_yaml.ts";

/** What the operator lets callers do. */
export interface SubmittedKubeconfigOptions {
  /** `--apply-allow-insecure-tls` */
  readonly allowInsecureTls: boolean;
}

const MAX_BYTES = 256 * 1024;
const MAX_SERVER_LENGTH = 2048;

/** Fields that would read files, run programs or reach further than the server itself. */
const REFUSED_CLUSTER_FIELDS = ["certificate-authority", "proxy-url"];
const REFUSED_USER_FIELDS = [
  "exec",
  "auth-provider",
  "tokenFile",
  "token-file",
  "client-certificate",
  "client-key",
  "as",
  "as-uid",
  "as-groups",
  "as-user-extra",
];

type Fields = Record<string, unknown>;

/**
 * The cluster and user of a stranger's kubeconfig, sent as base64. Only known fields with inline
 * data are copied; every other way to name credentials is refused, and nothing is looked up.
 */
export function parseSubmittedKubeconfig(
  base64: string,
  options: SubmittedKubeconfigOptions,
): KubeTarget {
  const root = mapping(parseYaml(decodeText(base64)), "the document");
  if (root["kind"] !== undefined && root["kind"] !== "Config") throw refuse("kind is not Config");
  const contextName = text(root, "current-context");
  if (!contextName) throw refuse("current-context is missing");
  const context = entry(root, "contexts", "context", contextName);
  if (!context) throw refuse("current-context names a context that does not exist");
  const cluster = entry(root, "clusters", "cluster", text(context, "cluster"));
  if (!cluster) throw refuse("the context's cluster does not exist");
  const user = entry(root, "users", "user", text(context, "user"));
  if (!user) throw refuse("the context's user does not exist");
  const target: KubeTarget = {
    origin: "the submitted kubeconfig",
    context: contextName,
    impersonation: {},
    ...clusterPart(cluster, options),
    ...userPart(user),
  };
  const fault = tlsFault(materialOf(target));
  if (fault) throw refuse(fault);
  return target;
}

function clusterPart(
  cluster: Fields,
  { allowInsecureTls }: SubmittedKubeconfigOptions,
): Pick<KubeTarget, "server" | "ca" | "tlsServerName" | "insecureSkipTlsVerify"> {
  refuseFields(cluster, REFUSED_CLUSTER_FIELDS);
  const insecure = cluster["insecure-skip-tls-verify"] ?? false;
  if (typeof insecure !== "boolean") {
    throw refuse("insecure-skip-tls-verify is neither true nor false");
  }
  if (insecure && !allowInsecureTls) {
    throw refuse("insecure-skip-tls-verify is not allowed; use certificate-authority-data");
  }
  const ca = data(cluster, "certificate-authority-data");
  if (insecure && ca) {
    throw refuse("insecure-skip-tls-verify and certificate-authority-data exclude each other");
  }
  const tlsServerName = text(cluster, "tls-server-name");
  if (tlsServerName && !/^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$/.test(tlsServerName)) {
    throw refuse("tls-server-name is not a host name");
  }
  return {
    server: serverUrl(text(cluster, "server")),
    insecureSkipTlsVerify: insecure,
    ...(ca ? { ca: { data: ca } } : {}),
    ...(tlsServerName ? { tlsServerName } : {}),
  };
}

function serverUrl(server: string | undefined): string {
  const isPlain = server !== undefined && server.length <= MAX_SERVER_LENGTH &&
    /^https:\/\/[^/][\x21-\x7e]*$/i.test(server) && !/[\\@?#]/.test(server);
  const url = isPlain ? URL.parse(server) : null;
  if (!url || url.protocol !== "https:" || url.hostname === "") {
    throw refuse("server is not of the form https://host:port");
  }
  // As the URL parser reads it: what is checked later is what is connected to.
  return (url.origin + url.pathname).replace(/\/+$/, "");
}

function userPart(user: Fields): Pick<KubeTarget, "auth" | "clientCertificate"> {
  refuseFields(user, REFUSED_USER_FIELDS);
  const cert = data(user, "client-certificate-data");
  const key = data(user, "client-key-data");
  if (cert !== undefined && key === undefined) throw refuse("client-key-data is missing");
  if (cert === undefined && key !== undefined) throw refuse("client-certificate-data is missing");
  const auth = authOf(user);
  if (auth.kind === "none" && !cert) {
    throw refuse("its user has no token, client-certificate-data or username");
  }
  if (cert === undefined || key === undefined) return { auth };
  return { auth, clientCertificate: { cert: { data: cert }, key: { data: key } } };
}

function authOf(user: Fields): TargetAuth {
  const token = text(user, "token");
  const username = text(user, "username");
  const password = text(user, "password") ?? "";
  if (token !== undefined && username !== undefined) {
    throw refuse("token and username exclude each other");
  }
  if (token !== undefined) {
    // It becomes a header.
    if (!/^[\x21-\x7e]+$/.test(token)) throw refuse("token holds characters that no token has");
    return { kind: "token", token: { data: token } };
  }
  if (username === undefined) return { kind: "none" };
  if (/[:\p{Cc}]/u.test(username)) throw refuse("username holds a colon or a control character");
  return { kind: "basic", username, password };
}

const materialOf = ({ ca, clientCertificate }: KubeTarget) => ({
  ...(ca && "data" in ca ? { ca: ca.data } : {}),
  ...(clientCertificate && "data" in clientCertificate.cert && "data" in clientCertificate.key
    ? { cert: clientCertificate.cert.data, key: clientCertificate.key.data }
    : {}),
});

function decodeText(base64: string): string {
  if (base64.length > Math.ceil(MAX_BYTES / 3) * 4) throw refuse("it is over 256 KiB");
  const bytes = decodeBase64(base64);
  if (!bytes || bytes.length === 0) throw refuse("it is not standard base64");
  if (bytes.length > MAX_BYTES) throw refuse("it is over 256 KiB");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw refuse("it is not UTF-8 text");
  }
}

function parseYaml(yaml: string): unknown {
  try {
    return parseUntrustedYaml(yaml);
  } catch (error) {
    // The parser's own words quote the text, which may hold credentials.
    const reason = error instanceof Error && error.name === "UntrustedYamlError"
      ? error.message
      : "it is not valid YAML";
    throw refuse(reason);
  }
}

/** The bytes of padded standard base64 without anything else in it. */
function decodeBase64(value: string): Buffer | undefined {
  const bytes = Buffer.from(value, "base64");
  return bytes.toString("base64") === value ? bytes : undefined;
}

/** The fields of the one entry with this name in a list of named entries. */
function entry(
  root: Fields,
  list: string,
  inner: string,
  name: string | undefined,
): Fields | undefined {
  const entries = root[list] ?? [];
  if (!Array.isArray(entries)) throw refuse(`${list} is not a list`);
  const found = entries.map((item) => mapping(item, `an entry of ${list}`))
    .filter((fields) => name !== undefined && fields["name"] === name);
  if (found.length > 1) throw refuse(`${list} has two entries of the same name`);
  return found[0] && mapping(found[0][inner] ?? {}, inner);
}

/** A copy without a prototype, so that only fields that were sent can be found in it. */
function mapping(value: unknown, what: string): Fields {
  const isMapping = typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
  if (!isMapping) throw refuse(`${what} is not a mapping`);
  const fields: Fields = Object.create(null);
  for (const [key, field] of Object.entries(value)) fields[key] = field;
  return fields;
}

function text(fields: Fields, key: string): string | undefined {
  const value = fields[key];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw refuse(`${key} is not text`);
  return value;
}

function data(fields: Fields, key: string): string | undefined {
  const value = text(fields, key);
  if (value === undefined) return undefined;
  const bytes = decodeBase64(value);
  if (!bytes) throw refuse(`${key} is not standard base64`);
  return bytes.toString("latin1");
}

function refuseFields(fields: Fields, refused: readonly string[]): void {
  for (const key of refused) {
    if (!isEmpty(fields[key])) {
      throw refuse(`${key} is not allowed; only inline data of the cluster and user is used`);
    }
  }
}

/** What writers of kubeconfigs leave behind for a field that is not used. */
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === "" ||
  (typeof value === "object" && Object.keys(value).length === 0);

import { Buffer } from "node:buffer";
import { REFUSED_CLUSTER_FIELDS, REFUSED_USER_FIELDS } from "../api/kubeconfig_fields.ts";
import { isDnsLabel } from "../api/names.ts";
import { parseUntrustedYaml, UntrustedYamlError } from "../yaml.ts";
import type { KubeTarget, TargetAuth } from "./kube_target.ts";
import { tlsFault } from "./tls_fault.ts";

/** Says why a kubeconfig is refused; the message repeats nothing of it. */
export class InlineKubeconfigError extends Error {
  override readonly name = "InlineKubeconfigError";
}

/** How to read a stranger's kubeconfig. */
export interface InlineKubeconfigOptions {
  /** Where it came from, for messages about the cluster. */
  readonly origin: string;
  /** Whether `insecure-skip-tls-verify` is accepted. */
  readonly allowInsecureTls?: boolean;
}

const MAX_BYTES = 256 * 1024;
const TOO_LARGE = "it is over 256 KiB";
const MAX_SERVER_LENGTH = 2048;

const refuse = (reason: string) => new InlineKubeconfigError(reason);

type Fields = Record<string, unknown>;

/**
 * Reads the current context of a stranger's kubeconfig. Copies only known fields with inline data,
 * refuses every other way to name credentials, and opens no file.
 */
export function parseInlineKubeconfig(
  yaml: string,
  { origin, allowInsecureTls = false }: InlineKubeconfigOptions,
): KubeTarget {
  if (yaml.length > MAX_BYTES) throw refuse(TOO_LARGE);
  const root = mapping(parseYaml(yaml), "the document");
  if (root["kind"] !== undefined && root["kind"] !== "Config") throw refuse("kind is not Config");
  const contextName = text(root, "current-context");
  if (!contextName) throw refuse("current-context is missing");
  const context = entry(root, "contexts", "context", contextName);
  if (!context) throw refuse("current-context names a context that does not exist");
  const cluster = entry(root, "clusters", "cluster", text(context, "cluster"));
  if (!cluster) throw refuse("the context's cluster does not exist");
  const user = entry(root, "users", "user", text(context, "user"));
  if (!user) throw refuse("the context's user does not exist");
  const namespace = text(context, "namespace");
  if (namespace !== undefined && !isDnsLabel(namespace)) throw refuse("namespace is not a name");
  const target: KubeTarget = {
    origin,
    context: contextName,
    impersonation: {},
    ...(namespace === undefined ? {} : { namespace }),
    ...clusterPart(cluster, allowInsecureTls),
    ...userPart(user),
  };
  const fault = tlsFault(materialOf(target));
  if (fault) throw refuse(fault);
  return target;
}

/** Decodes a kubeconfig that was sent as base64. */
export function decodeKubeconfig(base64: string): string {
  if (base64.length > Math.ceil(MAX_BYTES / 3) * 4) throw refuse(TOO_LARGE);
  const bytes = decodeBase64(base64);
  if (!bytes || bytes.length === 0) throw refuse("it is not standard base64");
  if (bytes.length > MAX_BYTES) throw refuse(TOO_LARGE);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw refuse("it is not UTF-8 text");
  }
}

function clusterPart(
  cluster: Fields,
  allowInsecureTls: boolean,
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
  // Return the parsed form, so that callers check the same host that the connection goes to.
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
    // The token becomes a header.
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

function parseYaml(yaml: string): unknown {
  try {
    return parseUntrustedYaml(yaml);
  } catch (error) {
    // The parser's own messages quote the text, which may hold credentials.
    throw refuse(error instanceof UntrustedYamlError ? error.message : "it is not valid YAML");
  }
}

/** Decodes padded standard base64; undefined when the text holds anything else. */
function decodeBase64(value: string): Buffer | undefined {
  const bytes = Buffer.from(value, "base64");
  return bytes.toString("base64") === value ? bytes : undefined;
}

/** Finds the entry with this name in a list, and returns the fields of its inner part. */
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

/** Copies a mapping without its prototype, so that a lookup finds only fields that were sent. */
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

/** Returns whether a field is unused: some writers of kubeconfigs leave empty values behind. */
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === "" ||
  (typeof value === "object" && Object.keys(value).length === 0);

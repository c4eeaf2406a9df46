import path from "node:path";
import { parse, YAMLParseError } from "yaml";
import {
  ConfigFileError,
  type ExecSpec,
  type KubeTarget,
  type Source,
  type TargetAuth,
} from "./kube_target.ts";

/** One kubeconfig file: its text, and its path, to which paths in it are relative. */
export interface KubeconfigFile {
  readonly path: string;
  readonly text: string;
}

type Fields = Record<string, unknown>;
interface Entry {
  readonly name: string;
  readonly fields: Fields;
  readonly file: string;
}
interface Merged {
  readonly clusters: Map<string, Entry>;
  readonly users: Map<string, Entry>;
  readonly contexts: Map<string, Entry>;
  currentContext: string;
}

/**
 * Resolves the cluster and user that `kubectl` would choose from these files. The first file that
 * names a cluster, user, context or current context wins. Paths are relative to their own file.
 */
export function targetFromKubeconfig(
  files: readonly KubeconfigFile[],
  contextName?: string,
): KubeTarget {
  const merged = merge(files);
  const where = files.map((file) => file.path).join(", ");
  const chosen = contextName || merged.currentContext;
  if (!chosen) {
    throw new ConfigFileError(where, "it has no current-context", "choose one with --context");
  }
  const context = merged.contexts.get(chosen);
  if (!context) {
    const known = [...merged.contexts.keys()].map((name) => `"${name}"`).join(", ") || "none";
    throw new ConfigFileError(where, `context "${chosen}" does not exist (known: ${known})`);
  }
  const clusterName = text(context, "cluster");
  const cluster = clusterName === undefined ? undefined : merged.clusters.get(clusterName);
  if (!cluster) {
    throw new ConfigFileError(
      context.file,
      `context "${chosen}" refers to cluster "${clusterName ?? ""}", which does not exist`,
    );
  }
  const userName = text(context, "user");
  const user = userName ? merged.users.get(userName) : undefined;
  if (userName && !user) {
    throw new ConfigFileError(
      context.file,
      `context "${chosen}" refers to user "${userName}", which does not exist`,
    );
  }
  const namespace = text(context, "namespace");
  return {
    origin: `context "${chosen}" of ${context.file}`,
    context: chosen,
    ...(namespace ? { namespace } : {}),
    ...clusterPart(cluster),
    ...userPart(user),
  };
}

function clusterPart(
  cluster: Entry,
): Pick<
  KubeTarget,
  "server" | "ca" | "tlsServerName" | "insecureSkipTlsVerify" | "proxyUrl" | "execConfig"
> {
  const server = text(cluster, "server");
  if (!server || !/^https?:\/\/[^/?#]+/i.test(server) || !URL.canParse(server)) {
    throw new ConfigFileError(
      cluster.file,
      `cluster "${cluster.name}" needs a server of the form https://host:port`,
    );
  }
  const ca = source(cluster, "certificate-authority");
  const tlsServerName = text(cluster, "tls-server-name");
  const proxyUrl = text(cluster, "proxy-url");
  const execExtension = list(cluster, "extensions")
    .map((item) => record(cluster, "extensions", item))
    .find(({ name }) => name === "client.authentication.k8s.io/exec");
  const insecureSkipTlsVerify = cluster.fields["insecure-skip-tls-verify"] === true;
  if (ca && insecureSkipTlsVerify) {
    throw new ConfigFileError(
      cluster.file,
      `cluster "${cluster.name}" sets both a certificate authority and insecure-skip-tls-verify`,
      "remove one of them",
    );
  }
  return {
    server: server.replace(/\/+$/, ""),
    insecureSkipTlsVerify,
    ...(ca ? { ca } : {}),
    ...(tlsServerName ? { tlsServerName } : {}),
    ...(proxyUrl ? { proxyUrl } : {}),
    ...(execExtension ? { execConfig: execExtension["extension"] } : {}),
  };
}

function userPart(
  user: Entry | undefined,
): Pick<KubeTarget, "auth" | "clientCertificate" | "impersonation"> {
  if (!user) return { auth: { kind: "none" }, impersonation: {} };
  const cert = source(user, "client-certificate");
  const key = source(user, "client-key");
  if (!cert !== !key) {
    throw new ConfigFileError(
      user.file,
      `user "${user.name}" has ${
        cert ? "a client certificate but no key" : "a client key but no certificate"
      }`,
    );
  }
  return {
    auth: authOf(user),
    impersonation: impersonationOf(user),
    ...(cert && key ? { clientCertificate: { cert, key } } : {}),
  };
}

function authOf(user: Entry): TargetAuth {
  const { exec, "auth-provider": authProvider } = user.fields;
  const tokenFile = text(user, "tokenFile");
  const token = text(user, "token");
  const username = text(user, "username");
  if (token && username) {
    throw new ConfigFileError(
      user.file,
      `user "${user.name}" has both a token and a username`,
      "remove one of them",
    );
  }
  // As in kubectl, a token file is reread and wins over an inline token.
  if (tokenFile) {
    const fallback = token ? { fallback: token } : {};
    return { kind: "token", token: { file: absolute(user, tokenFile) }, ...fallback };
  }
  if (token) return { kind: "token", token: { data: token } };
  if (username) return { kind: "basic", username, password: text(user, "password") ?? "" };
  if (exec !== undefined && exec !== null) return { kind: "exec", exec: execOf(user, exec) };
  if (authProvider !== undefined && authProvider !== null) {
    throw new ConfigFileError(
      user.file,
      `user "${user.name}" uses auth-provider, which Kubernetes has retired`,
      "use an exec credential plugin, a token or a client certificate",
    );
  }
  return { kind: "none" };
}

function execOf(user: Entry, value: unknown): ExecSpec {
  const exec: Entry = { ...user, fields: record(user, "exec", value) };
  const command = text(exec, "command");
  const apiVersion = text(exec, "apiVersion");
  if (!command || !apiVersion) {
    throw new ConfigFileError(
      user.file,
      `exec of user "${user.name}" needs a command and an apiVersion`,
    );
  }
  const interactive = text(exec, "interactiveMode") ?? "IfAvailable";
  if (interactive !== "Never" && interactive !== "IfAvailable" && interactive !== "Always") {
    throw new ConfigFileError(
      user.file,
      `exec of user "${user.name}" has the unknown interactiveMode "${interactive}"`,
    );
  }
  const installHint = text(exec, "installHint");
  return {
    apiVersion,
    command,
    args: list(exec, "args").map(String),
    env: list(exec, "env").map((item) => {
      const { name, value: setting } = record(user, "exec.env", item);
      return { name: String(name), value: String(setting ?? "") };
    }),
    interactiveMode: interactive,
    provideClusterInfo: exec.fields["provideClusterInfo"] === true,
    baseDir: path.dirname(user.file),
    ...(installHint ? { installHint } : {}),
  };
}

function impersonationOf(user: Entry): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  const name = text(user, "as");
  const uid = text(user, "as-uid");
  const groups = list(user, "as-groups").map(String);
  if (name) headers["Impersonate-User"] = name;
  if (uid) headers["Impersonate-Uid"] = uid;
  if (groups.length > 0) headers["Impersonate-Group"] = groups;
  const fields = record(user, "as-user-extra", user.fields["as-user-extra"] ?? {});
  for (const key of Object.keys(fields)) {
    const values = list({ ...user, fields }, key).map(String);
    headers[`Impersonate-Extra-${encodeURIComponent(key)}`] = values;
  }
  return headers;
}

function merge(files: readonly KubeconfigFile[]): Merged {
  const merged: Merged = {
    clusters: new Map(),
    users: new Map(),
    contexts: new Map(),
    currentContext: "",
  };
  for (const file of files) {
    const root: Entry = { name: "", fields: parseFile(file), file: file.path };
    addEntries(merged.clusters, root, "clusters", "cluster");
    addEntries(merged.users, root, "users", "user");
    addEntries(merged.contexts, root, "contexts", "context");
    merged.currentContext ||= text(root, "current-context") ?? "";
  }
  return merged;
}

function parseFile(file: KubeconfigFile): Fields {
  let value: unknown;
  try {
    // Its warnings would print lines of the file to stderr.
    value = parse(file.text, { merge: true, logLevel: "error" });
  } catch (cause) {
    throw new ConfigFileError(file.path, `it is not valid YAML (${faultOf(cause)})`);
  }
  if (value === null || value === undefined) return {};
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new ConfigFileError(file.path, "it is not a kubeconfig");
  }
  return value as Fields;
}

/** Returns the parser's code and position only: its messages quote the text, passwords included. */
function faultOf(cause: unknown): string {
  if (!(cause instanceof YAMLParseError)) return "an alias or a merge in it leads nowhere";
  const fault = cause.code.toLowerCase().replaceAll("_", " ");
  const [at] = cause.linePos ?? [];
  return at ? `${fault} at line ${at.line}, column ${at.col}` : fault;
}

function addEntries(into: Map<string, Entry>, root: Entry, key: string, inner: string): void {
  const here = new Set<string>();
  for (const item of list(root, key)) {
    const fields = record(root, key, item);
    const name = String(fields["name"] ?? "");
    if (here.has(name)) {
      throw new ConfigFileError(root.file, `it names the ${inner} "${name}" twice`);
    }
    here.add(name);
    if (into.has(name)) continue;
    into.set(name, {
      name,
      fields: record(root, `${key}.${inner}`, fields[inner] ?? {}),
      file: root.file,
    });
  }
}

function record(entry: Entry, key: string, value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ConfigFileError(entry.file, `"${key}" is not a mapping`);
  }
  return value as Fields;
}

function list(entry: Entry, key: string): unknown[] {
  const value = entry.fields[key] ?? [];
  if (!Array.isArray(value)) throw new ConfigFileError(entry.file, `"${key}" is not a list`);
  return value;
}

function text(entry: Entry, key: string): string | undefined {
  const value = entry.fields[key];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") {
    throw new ConfigFileError(entry.file, `"${key}" is not text`, "put it in quotes");
  }
  return value;
}

const absolute = (entry: Entry, file: string): string =>
  path.resolve(path.dirname(entry.file), file);

/** Reads a field that is inline base64 (`<key>-data`) or a path. Inline wins. */
function source(entry: Entry, key: string): Source | undefined {
  const data = text(entry, `${key}-data`);
  if (data !== undefined) return { data: decodeBase64(entry, `${key}-data`, data) };
  const file = text(entry, key);
  return file === undefined ? undefined : { file: absolute(entry, file) };
}

function decodeBase64(entry: Entry, key: string, value: string): string {
  try {
    return atob(value.replaceAll(/\s/g, ""));
  } catch {
    throw new ConfigFileError(entry.file, `"${key}" is not base64`);
  }
}

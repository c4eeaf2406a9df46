import { Buffer } from "node:buffer";
import { parseUntrustedYaml } from "../../common/untrusted_yaml.ts";
import { toYaml } from "../../common/to_yaml.ts";
import { tlsFault } from "../../common/kube/tls_fault.ts";
import { isDnsLabel } from "../../common/api/names.ts";
import { differences, isMapping } from "./differences.ts";
import { refused } from "./refused.ts";

/** A provider's kubeconfig that was found harmless. */
export interface ProviderKubeconfig {
  /** Where its one cluster is. */
  readonly server: string;
  /** Written anew from the parts that were checked: another reader can find nothing else in it. */
  readonly text: string;
}

const MAX_LENGTH = 256 * 1024;

/** Accepts one https cluster with CA data or none, one user with a token, and one context. */
export function checkProviderKubeconfig(text: string): ProviderKubeconfig {
  const given = parsed(text);
  const [cluster = {}] = entries(given, "clusters", "cluster");
  const [user = {}] = entries(given, "users", "user");
  const [context = {}] = entries(given, "contexts", "context");
  const server = serverOf(cluster["server"]);
  const ca = cluster["certificate-authority-data"];
  const { namespace } = context;
  const names = {
    cluster: nameOf(context["cluster"]),
    user: nameOf(context["user"]),
    context: nameOf(given["current-context"]),
  };
  const model = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: names.cluster,
      cluster: {
        server,
        ...(ca === undefined ? {} : { "certificate-authority-data": authorityOf(ca) }),
      },
    }],
    users: [{ name: names.user, user: { token: tokenOf(user["token"]) } }],
    contexts: [{
      name: names.context,
      context: {
        cluster: names.cluster,
        user: names.user,
        ...(namespace === undefined ? {} : { namespace: namespaceOf(namespace) }),
      },
    }],
    "current-context": names.context,
  };
  const [path] = differences(withoutPreferences(given), model);
  if (path !== undefined) throw refusedKubeconfig(`"${path}" is not what a bundle holds there`);
  return { server, text: toYaml([model]) };
}

function parsed(text: string): Record<string, unknown> {
  let given: unknown;
  try {
    given = text.length > MAX_LENGTH ? undefined : parseUntrustedYaml(text);
  } catch {
    // Told below; the parser's own words would quote credentials.
  }
  if (!isMapping(given)) throw refusedKubeconfig("it is not a YAML mapping of a usual size");
  return given;
}

/** Some writers leave this empty mapping behind. */
function withoutPreferences({ preferences, ...rest }: Record<string, unknown>): unknown {
  return isMapping(preferences) && Object.keys(preferences).length > 0
    ? { preferences, ...rest }
    : rest;
}

/** The inner parts of a list that must have one entry; its shape is compared afterwards. */
function entries(
  given: Record<string, unknown>,
  list: string,
  inner: string,
): Record<string, unknown>[] {
  const items = given[list];
  if (!Array.isArray(items) || items.length !== 1) {
    throw refusedKubeconfig(`"${list}" does not hold exactly one ${inner}`);
  }
  return items.map((item) => isMapping(item) && isMapping(item[inner]) ? item[inner] : {});
}

function serverOf(value: unknown): string {
  const isPlain = typeof value === "string" && /^https:\/\/[^/\\@?#\s][\x21-\x7e]*$/.test(value) &&
    !/[\\@?#]/.test(value);
  if (!isPlain || !URL.canParse(value)) {
    throw refusedKubeconfig("its server is not of the form https://host:port");
  }
  return value;
}

function authorityOf(value: unknown): string {
  const bytes = Buffer.from(typeof value === "string" ? value : "", "base64");
  if (bytes.length === 0 || bytes.toString("base64") !== value) {
    throw refusedKubeconfig("its certificate-authority-data is not base64");
  }
  const fault = tlsFault({ ca: bytes.toString("latin1") });
  if (fault) throw refusedKubeconfig(fault);
  return value;
}

function tokenOf(value: unknown): string {
  if (typeof value === "string" && /^[\x21-\x7e]{1,65536}$/.test(value)) return value;
  throw refusedKubeconfig("its user has no token");
}

function nameOf(value: unknown): string {
  if (typeof value === "string" && /^[-\w.:@/]{1,253}$/.test(value)) return value;
  throw refusedKubeconfig("its context does not name a cluster and a user");
}

function namespaceOf(value: unknown): string {
  if (typeof value === "string" && isDnsLabel(value)) return value;
  throw refusedKubeconfig("its namespace is not a name");
}

const refusedKubeconfig = (reason: string) => refused("the kubeconfig in the bundle", reason);

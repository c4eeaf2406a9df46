import { REFUSED_CLUSTER_FIELDS, REFUSED_USER_FIELDS } from "../../common/api/kubeconfig_fields.ts";
import { type PlainYaml, readPlainYaml } from "./plain_yaml.ts";

/** Holds the parts of a kubeconfig that users should see before they send it. */
export interface KubeconfigPeek {
  readonly context: string;
  readonly server: string;
  readonly user: string;
  /** Says why the gateway will refuse the kubeconfig; undefined if the page finds no reason. */
  readonly problem: string | undefined;
}

const MAX_CHARACTERS = 256 * 1024;

/** Returns the current context, its server and its user; undefined for an empty text. */
export function peekKubeconfig(text: string): KubeconfigPeek | undefined {
  if (text.trim() === "") return undefined;
  const nothing = { context: "", server: "", user: "" };
  if (text.length > MAX_CHARACTERS) {
    return { ...nothing, problem: "It is over 256 KiB" };
  }
  const root = mapping(readPlainYaml(text));
  const context = textOf(root["current-context"]);
  if (!context) return { ...nothing, problem: "It has no current-context" };
  const chosen = named(root["contexts"], context, "context");
  if (!chosen) {
    return {
      ...nothing,
      context,
      problem: "Its current-context does not exist",
    };
  }
  const user = textOf(chosen["user"]);
  const clusterFields = named(root["clusters"], textOf(chosen["cluster"]), "cluster") ?? {};
  const userFields = named(root["users"], user, "user") ?? {};
  const server = textOf(clusterFields["server"]);
  return {
    context,
    server,
    user,
    problem: problemOf(server, clusterFields, userFields),
  };
}

function problemOf(server: string, cluster: Fields, user: Fields): string | undefined {
  if (!server) return "The cluster of its current-context has no server";
  if (!/^https:\/\//i.test(server)) return "Its server is not an https address";
  const field = REFUSED_CLUSTER_FIELDS.find((name) => name in cluster) ??
    REFUSED_USER_FIELDS.find((name) => name in user);
  if (!field) return undefined;
  return `It uses "${field}": the gateway accepts inline credentials only. ` +
    "kubectl config view --raw --flatten --minify makes files inline";
}

type Fields = { [key: string]: PlainYaml };

const mapping = (value: PlainYaml | undefined): Fields =>
  typeof value === "object" && !Array.isArray(value) ? value : {};

const textOf = (value: PlainYaml | undefined): string => typeof value === "string" ? value : "";

/** Finds the entry of a list with this name, and returns the given part of it. */
function named(list: PlainYaml | undefined, name: string, part: string): Fields | undefined {
  if (!Array.isArray(list)) return undefined;
  const entry = list.map(mapping).find((each) => textOf(each["name"]) === name);
  return entry && mapping(entry[part]);
}

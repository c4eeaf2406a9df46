import type { KubeObject, ResourceType } from "../api/resources.ts";
import { KubeError } from "./kube_error.ts";

/** An object's name and, for namespaced kinds, its namespace. */
export interface ObjectKey {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** The key of an object that was read. */
export const keyOf = ({ metadata }: Pick<KubeObject, "metadata">): ObjectKey =>
  metadata.namespace
    ? { name: metadata.name, namespace: metadata.namespace }
    : { name: metadata.name };

/** The key as one string, `namespace/name` or `name`. */
export const keyText = ({ name, namespace }: ObjectKey): string =>
  namespace ? `${namespace}/${name}` : name;

/** The path of a collection; without a namespace, of all namespaces. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const root = type.group === ""
    ? `/api/${segment(type.version)}`
    : `/apis/${segment(type.group)}/${segment(type.version)}`;
  if (namespace !== undefined && !type.namespaced) {
    throw invalid(`${type.plural} have no namespace`);
  }
  const within = namespace === undefined ? "" : `/namespaces/${segment(namespace)}`;
  return `${root}${within}/${segment(type.plural)}`;
}

/** The path of one object or of one of its subresources. */
export function objectPath(
  type: ResourceType,
  { name, namespace }: ObjectKey,
  subresource?: "status" | "token",
): string {
  if (type.namespaced && !namespace) throw invalid(`${type.plural} need a namespace`);
  const path = `${collectionPath(type, type.namespaced ? namespace : undefined)}/${segment(name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/** One encoded path segment; what the API server could never store is refused before any call. */
function segment(text: string): string {
  // A lone surrogate (Cs) cannot be encoded at all.
  if (text === "" || text === "." || text === ".." || /[/%\p{Cc}\p{Cs}]/u.test(text)) {
    throw invalid(`"${text.slice(0, 80)}" is not a valid name`);
  }
  if (text.length > 253) throw invalid(`"${text.slice(0, 80)}…" is longer than 253 characters`);
  return encodeURIComponent(text);
}

const invalid = (fault: string): KubeError =>
  new KubeError(`Cannot build an API path: ${fault}`, { status: 0, reason: "InvalidName" });

import type { KubeObject, ResourceType } from "../api/resources.ts";
import { KubeError } from "./kube_error.ts";

/** An object's name and, for namespaced kinds, its namespace. */
export interface ObjectKey {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** Returns the key of an object. */
export const keyOf = ({ metadata }: Pick<KubeObject, "metadata">): ObjectKey =>
  metadata.namespace
    ? { name: metadata.name, namespace: metadata.namespace }
    : { name: metadata.name };

/** Formats a key as `namespace/name` or `name`. */
export const keyText = ({ name, namespace }: ObjectKey): string =>
  namespace ? `${namespace}/${name}` : name;

/** Builds the path of a collection. Without a namespace it spans all of them. */
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

/** Builds the path of one object or of one of its subresources. */
export function objectPath(
  type: ResourceType,
  { name, namespace }: ObjectKey,
  subresource?: "status" | "token",
): string {
  if (type.namespaced && !namespace) throw invalid(`${type.plural} need a namespace`);
  const path = `${collectionPath(type, type.namespaced ? namespace : undefined)}/${segment(name)}`;
  return subresource ? `${path}/${subresource}` : path;
}

/** Encodes one path segment. Refuses names that no API server could store. */
function segment(text: string): string {
  // A lone surrogate (Cs) cannot be encoded.
  if (text === "" || text === "." || text === ".." || /[/%\p{Cc}\p{Cs}]/u.test(text)) {
    throw invalid(`"${text.slice(0, 80)}" is not a valid name`);
  }
  if (text.length > 253) throw invalid(`"${text.slice(0, 80)}…" is longer than 253 characters`);
  return encodeURIComponent(text);
}

const invalid = (fault: string): KubeError =>
  new KubeError(`Cannot build an API path: ${fault}`, { status: 0, reason: "InvalidName" });

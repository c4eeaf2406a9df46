import { CONSUMER_NAMESPACE, isDnsLabel } from "../../common/api/names.ts";
import type { Checked, TextKind } from "../../common/flags/flag_kinds.ts";

/** Secrets that give rights on their cluster, or hold the state of installed programs. */
const KEPT_TYPES = [
  "bootstrap.kubernetes.io/token",
  "kubernetes.io/service-account-token",
  "helm.sh/release.v1",
];
const HELM_RELEASE = "helm.sh/release";
/** The namespaces of Kubernetes that every cluster has; others begin like them. */
const KEPT_NAMESPACES = ["kube-system", "kube-public", "kube-node-lease", CONSUMER_NAMESPACE];
const KUBERNETES = "kube-";

/** What an operator allows to be copied besides. */
export interface Allowed {
  readonly namespaces: readonly string[];
  readonly types: readonly string[];
}

const isKeptNamespace = (namespace: string): boolean =>
  namespace === CONSUMER_NAMESPACE || namespace.startsWith(KUBERNETES);

const isKeptType = (type: string): boolean =>
  KEPT_TYPES.includes(type) || type.startsWith(HELM_RELEASE);

/** Returns whether nothing is copied from or into a namespace. */
export const isBarredNamespace = (namespace: string, { namespaces }: Allowed): boolean =>
  isKeptNamespace(namespace) && !namespaces.includes(namespace);

/** Returns whether Secrets of a type are never copied. */
export const isBarredType = (type: string, { types }: Allowed): boolean =>
  isKeptType(type) && !types.includes(type);

/** Selects the Secrets whose data may be read at all, as far as an API server can select them. */
export function mayBeRead({ namespaces, types }: Allowed): string {
  const without = (field: string, kept: readonly string[], allowed: readonly string[]) =>
    kept.filter((each) => !allowed.includes(each)).map((each) => `${field}!=${each}`);
  return [
    ...without("type", KEPT_TYPES, types),
    ...without("metadata.namespace", KEPT_NAMESPACES, namespaces),
  ].join(",");
}

const NAMESPACE = "namespace:";
const TYPE = "type:";

/** An item of `--related-allow`: `namespace:<name>` or `type:<type of Secrets>`. */
export const relatedException: TextKind = {
  placeholder: "exception",
  parse: (text): Checked<string> => {
    const [namespace, type] = [after(NAMESPACE, text), after(TYPE, text)];
    if (namespace !== undefined) {
      return checked(text, isDnsLabel(namespace), isKeptNamespace(namespace));
    }
    if (type !== undefined) return checked(text, /^[!-~]+$/.test(type), isKeptType(type));
    return { problem: "is neither namespace:<name> nor type:<type of Secrets>" };
  },
};

function checked(text: string, isName: boolean, isKept: boolean): Checked<string> {
  if (!isName) return { problem: "names nothing that a cluster can have" };
  // Most likely it is misspelt.
  return isKept ? { value: text } : { problem: "needs no permission: it is copied anyway" };
}

/** Sorts the items of `--related-allow`. */
export const allowedBy = (items: readonly string[]): Allowed => ({
  namespaces: items.flatMap((item) => after(NAMESPACE, item) ?? []),
  types: items.flatMap((item) => after(TYPE, item) ?? []),
});

const after = (prefix: string, text: string): string | undefined =>
  text.startsWith(prefix) ? text.slice(prefix.length) : undefined;

import type { CatalogExport, CatalogRelatedResource } from "../../common/api/wire.ts";

/** Describes one right of an issued credential on the provider. */
export interface Permission {
  /** Names the action, such as `Read and write`. */
  readonly may: string;
  /** Names the Kubernetes resource. */
  readonly what: string;
  readonly verbs: string;
  /** Says which objects, if not all. */
  readonly which?: string;
}

const READ = "get, list, watch";
const WRITE = `${READ}, create, update, patch, delete`;
/** Lists the rights of a credential for this Export, the most important first. */
export const permissionsOf = ({ apis, relatedResources = [] }: CatalogExport): Permission[] => [
  ...apis.map((api) => ({ may: "Read and write", what: api, verbs: `${WRITE}; also its status` })),
  ...distinct(relatedResources).map(({ resource, direction }) => ({
    may: direction === "FromConsumer" ? "Read and write" : "Read",
    what: resource,
    verbs: direction === "FromConsumer" ? WRITE : READ,
  })),
  { may: "List and create", what: "namespaces", verbs: `${READ}, create` },
  { may: "Read", what: "customresourcedefinitions", verbs: READ },
  { may: "Read", what: "namespaces", verbs: "get", which: "kube-system" },
  {
    may: "Send heartbeats with",
    what: "leases",
    verbs: WRITE,
    which: "in your own namespace there",
  },
];

/** Names a dangerous right of the credential beyond its APIs. */
export type Risk = "reads-secrets" | "writes-secrets" | "writes-configmaps";

/** Returns the dangerous rights of related rules, because selectors do not limit the credential. */
export function risksOf({ relatedResources = [] }: CatalogExport): Risk[] {
  const opens = (resource: string, direction: string) =>
    relatedResources.some((rule) => rule.resource === resource && rule.direction === direction);
  const risks: Risk[] = [];
  if (opens("secrets", "FromConsumer")) risks.push("writes-secrets");
  else if (opens("secrets", "FromProvider")) risks.push("reads-secrets");
  if (opens("configmaps", "FromConsumer")) risks.push("writes-configmaps");
  return risks;
}

/** Describes a related-resource rule: its direction, kind and selector. */
export function relatedSentence({ resource, direction, selector }: CatalogRelatedResource): string {
  const kind = kindOf(resource);
  const way = direction === "FromConsumer" ? "From your cluster" : "To your cluster";
  return selector === undefined
    ? `${way}: all ${kind}`
    : `${way}: ${kind} ${selectorWords(selector)}`;
}

function selectorWords(selector: string): string {
  const [labels, names] = selector.startsWith("names: ")
    ? ["", selector.slice("names: ".length)]
    : selector.split(/; names: (.*)/s);
  return [
    ...(labels ? [`with labels ${labels}`] : []),
    ...(names ? [`named ${names}`] : []),
  ].join(", ");
}

const kindOf = (resource: string): string =>
  ({ secrets: "Secrets", configmaps: "ConfigMaps" })[resource] ?? resource;

/** Returns one rule per resource, because the right to write includes the right to read. */
function distinct(rules: readonly CatalogRelatedResource[]): CatalogRelatedResource[] {
  const byResource = new Map<string, CatalogRelatedResource>();
  for (const rule of rules) {
    const known = byResource.get(rule.resource);
    if (!known || rule.direction === "FromConsumer") byResource.set(rule.resource, rule);
  }
  return [...byResource.values()];
}

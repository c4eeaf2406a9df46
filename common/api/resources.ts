import {
  type Condition,
  CONFIG_MAPS,
  type ConfigMap,
  type KubeObject,
  type LabelSelector,
  type ObjectMeta,
  type ResourceType,
  type Secret,
  SECRETS,
} from "./builtins.ts";
import {
  API_VERSION,
  type CATALOG_API_VERSION,
  CATALOG_GROUP,
  type CORE_API_VERSION,
  CORE_GROUP,
  type IAM_API_VERSION,
  IAM_GROUP,
} from "./groups.ts";
import type { Identity } from "./wire.ts";

export * from "./builtins.ts";

/** What the konnector does with an object that exists on the provider already. */
export type ConflictPolicy = "Fail" | "Adopt";

/** An API by its CRD name, `<plural>.<group>`. */
export interface ApiReference {
  name: string;
}

/** Secrets or ConfigMaps that are synced along with the objects of an API. */
export interface RelatedResource {
  /** The core group, the only one allowed; the API server fills it in. */
  group?: "";
  resource: "secrets" | "configmaps";
  direction: "FromProvider" | "FromConsumer";
  selector?: RelatedResourceSelector;
}

/** Selects the objects of a related-resource rule. If both fields are set, both must match. */
export interface RelatedResourceSelector {
  labelSelector?: LabelSelector;
  names?: string[];
}

/** Returns the type of a related resource. */
export const relatedType = (
  resource: RelatedResource["resource"],
): ResourceType<Secret & ConfigMap> => resource === "secrets" ? SECRETS : CONFIG_MAPS;

/** The status of a kind that reports nothing but conditions. */
export interface ConditionsStatus {
  conditions?: Condition[];
}

/** An offer in the provider's catalog. */
export interface Export extends KubeObject {
  apiVersion: typeof CATALOG_API_VERSION;
  kind: "Export";
  spec: ExportSpec;
  status?: ConditionsStatus;
}

/** The APIs of an Export, and its texts for people. */
export interface ExportSpec {
  title: string;
  description?: string;
  icon?: { url: string };
  docs?: string;
  apis: ApiReference[];
  defaults?: ExportDefaults;
}

/** Defaults that a new Grant copies from its Export. */
export interface ExportDefaults {
  conflictPolicy?: ConflictPolicy;
  relatedResources?: RelatedResource[];
}

/** A titled group of Exports. */
export interface Collection extends KubeObject {
  apiVersion: typeof CATALOG_API_VERSION;
  kind: "Collection";
  spec: CollectionSpec;
}

/** The members of a Collection, in display order. */
export interface CollectionSpec {
  title: string;
  description?: string;
  exports: { name: string }[];
}

/** The right of one identity to use one Export. */
export interface Grant extends KubeObject {
  apiVersion: typeof IAM_API_VERSION;
  kind: "Grant";
  spec: GrantSpec;
  status?: GrantStatus;
}

/** The identity, its Export and its rights. Subject and Export never change. */
export interface GrantSpec {
  identity: Identity;
  exportName: string;
  apis: ApiReference[];
  conflictPolicy?: ConflictPolicy;
  relatedResources?: RelatedResource[];
}

/** The credentials that the issuer created for a Grant. */
export interface GrantStatus extends ConditionsStatus {
  namespace?: string;
  serviceAccount?: string;
  tokenSecret?: string;
}

/** A consumer cluster's link to one provider. */
export interface Connection extends KubeObject {
  apiVersion: typeof CORE_API_VERSION;
  kind: "Connection";
  spec: ConnectionSpec;
  status?: ConnectionStatus;
}

/** The provider credentials, and how to use them. */
export interface ConnectionSpec {
  kubeconfigSecretRef: { namespace: string; name: string; key?: string };
  schema?: ConnectionSchema;
  autoBind?: boolean;
}

/** How the schemas of bound APIs get to the consumer. */
export interface ConnectionSchema {
  source?: "Auto" | "CRD" | "OpenAPI";
  pullPolicy?: "Bound" | "All" | "None";
  updatePolicy?: "Always" | "Once";
}

/** The clusters and APIs of a Connection, as the konnector found them. */
export interface ConnectionStatus extends ConditionsStatus {
  remoteClusterUID?: string;
  localClusterUID?: string;
  activeSchemaSource?: "CRD" | "OpenAPI";
  exportedAPIs?: ExportedApi[];
}

/** An API the provider offers to a Connection. */
export interface ExportedApi {
  name: string;
  group?: string;
  resource?: string;
  scope?: "Cluster" | "Namespaced";
  versions?: string[];
}

/** APIs bound for a whole consumer cluster. */
export interface ClusterBinding extends KubeObject {
  apiVersion: typeof CORE_API_VERSION;
  kind: "ClusterBinding";
  spec: BindingSpec;
  status?: BindingStatus;
}

/** APIs bound inside one consumer namespace. */
export interface Binding extends KubeObject {
  apiVersion: typeof CORE_API_VERSION;
  kind: "Binding";
  spec: BindingSpec;
  status?: BindingStatus;
}

/** The bound APIs and their Connection. */
export interface BindingSpec {
  connectionRef: { name: string };
  apis: ApiReference[];
  conflictPolicy?: ConflictPolicy;
  relatedResources?: RelatedResource[];
}

/** The state of a binding. */
export interface BindingStatus extends ConditionsStatus {
  boundAPIs?: BoundApi[];
}

/** The state of one bound API on the consumer. */
export interface BoundApi {
  name: string;
  crdHash?: string;
  conflictCount?: number;
}

const ours = <T extends KubeObject>(
  group: string,
  plural: string,
  kind: T["kind"],
  scope: "Cluster" | "Namespaced",
): ResourceType<T> => ({
  group,
  version: API_VERSION,
  plural,
  kind,
  namespaced: scope === "Namespaced",
});

/** exports.catalog.xbind.io */
export const EXPORTS = ours<Export>(CATALOG_GROUP, "exports", "Export", "Cluster");
/** collections.catalog.xbind.io */
export const COLLECTIONS = ours<Collection>(CATALOG_GROUP, "collections", "Collection", "Cluster");
/** grants.iam.xbind.io */
export const GRANTS = ours<Grant>(IAM_GROUP, "grants", "Grant", "Cluster");
/** connections.core.xbind.io */
export const CONNECTIONS = ours<Connection>(CORE_GROUP, "connections", "Connection", "Cluster");
/** clusterbindings.core.xbind.io */
export const CLUSTER_BINDINGS = ours<ClusterBinding>(
  CORE_GROUP,
  "clusterbindings",
  "ClusterBinding",
  "Cluster",
);
/** bindings.core.xbind.io */
export const BINDINGS = ours<Binding>(CORE_GROUP, "bindings", "Binding", "Namespaced");

/** Any object that reports conditions in the shared layout. */
export interface Conditioned {
  metadata: ObjectMeta;
  status?: ConditionsStatus;
}

/** Returns the object's condition of the given type. */
export const condition = (object: Conditioned, type: string): Condition | undefined =>
  object.status?.conditions?.find((candidate) => candidate.type === type);

/** Returns whether Ready is True for at least this generation, or without a generation. */
export const isReadyFor = (generation: number) => (object: Conditioned): boolean => {
  const ready = condition(object, "Ready");
  if (ready?.status !== "True") return false;
  return (ready.observedGeneration ?? object.metadata.generation ?? 0) >= generation;
};

/** Returns whether Ready is True for the object's current generation. */
export const isReady = (object: Conditioned): boolean =>
  isReadyFor(object.metadata.generation ?? 0)(object);

/** Returns whether the object is being deleted and waits for finalizers. */
export const isDeleting = (object: { metadata: ObjectMeta }): boolean =>
  object.metadata.deletionTimestamp !== undefined;

/** Returns whether the object has this finalizer. */
export const hasFinalizer = (object: { metadata: ObjectMeta }, finalizer: string): boolean =>
  object.metadata.finalizers?.includes(finalizer) ?? false;

import type * as k8s from "@kubernetes/client-node"; // only types: nothing of it is shipped

/**
 * A type of the stock client as JSON has it: times are RFC 3339 text. Schemas stay open, because
 * the stock client renames their fields (`_default`, `x_kubernetes_validations`).
 */
type Json<T> = T extends Date ? string
  : { [K in keyof T]: K extends "openAPIV3Schema" ? Record<string, unknown> : Json<T[K]> };

/** A kind of the stock client as JSON, with an identity and these fields always there. */
type Builtin<T, Always extends keyof T = never> =
  & KubeObject
  & Omit<Json<T>, keyof KubeObject>
  & Json<Required<Pick<T, Always>>>;

/** Object metadata; `deletionTimestamp` is there while finalizers hold up an accepted delete. */
export interface ObjectMeta extends Json<k8s.V1ObjectMeta> {
  name: string;
}

/** Anything with an identity on an API server. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** Where objects of type T live on an API server; `_object` never exists at run time. */
export interface ResourceType<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly _object?: T;
}

/** One observation of an object's state, in the layout all Kubernetes APIs share. */
export interface Condition extends Json<k8s.V1Condition> {
  status: "True" | "False" | "Unknown";
}

/** The standard label selector: every pair and every expression must hold. */
export interface LabelSelector extends Json<k8s.V1LabelSelector> {
  matchExpressions?: LabelSelectorRequirement[];
}

/** One set-based condition of a label selector. */
export interface LabelSelectorRequirement extends Json<k8s.V1LabelSelectorRequirement> {
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
}

/** A core/v1 Namespace. */
export type Namespace = Builtin<k8s.V1Namespace>;
/** A core/v1 Secret; values in `data` are base64, values in `stringData` are write-only text. */
export type Secret = Builtin<k8s.V1Secret>;
/** A core/v1 ConfigMap. */
export type ConfigMap = Builtin<k8s.V1ConfigMap>;
/** A core/v1 ServiceAccount. */
export type ServiceAccount = Builtin<k8s.V1ServiceAccount>;
/** One line of permissions in a Role or ClusterRole. */
export type PolicyRule = Json<k8s.V1PolicyRule>;
/** The account, user or group that a RoleBinding or ClusterRoleBinding gives permissions to. */
export type RbacSubject = Json<k8s.RbacV1Subject>;
/** An rbac.authorization.k8s.io/v1 Role. */
export type Role = Builtin<k8s.V1Role>;
/** An rbac.authorization.k8s.io/v1 ClusterRole. */
export type ClusterRole = Builtin<k8s.V1ClusterRole>;
/** An rbac.authorization.k8s.io/v1 RoleBinding; the API server never lets its `roleRef` change. */
export type RoleBinding = Builtin<k8s.V1RoleBinding>;
/** An rbac.authorization.k8s.io/v1 ClusterRoleBinding; its `roleRef` never changes either. */
export type ClusterRoleBinding = Builtin<k8s.V1ClusterRoleBinding>;
/** A coordination.k8s.io/v1 Lease; times have microseconds. */
export type Lease = Builtin<k8s.V1Lease>;
/** An events.k8s.io/v1 Event; `note` is its human-readable text, `eventTime` has microseconds. */
export type Event = Builtin<
  k8s.EventsV1Event,
  "reportingController" | "reportingInstance" | "action" | "reason" | "type"
>;
/** An apiextensions.k8s.io/v1 CustomResourceDefinition. */
export type CustomResourceDefinition = Builtin<k8s.V1CustomResourceDefinition>;
/** One served or stored version of a custom resource. */
export type CustomResourceVersion = Json<k8s.V1CustomResourceDefinitionVersion>;
/** An apps/v1 Deployment. */
export type Deployment = Builtin<k8s.V1Deployment, "spec">;
/** The pods of a Deployment. */
export type PodSpec = Json<k8s.V1PodSpec>;

const builtin = <T extends KubeObject>(
  group: string,
  plural: string,
  kind: string,
  scope: "Cluster" | "Namespaced",
): ResourceType<T> => ({ group, version: "v1", plural, kind, namespaced: scope === "Namespaced" });

const RBAC = "rbac.authorization.k8s.io";

/** Core namespaces. */
export const NAMESPACES = builtin<Namespace>("", "namespaces", "Namespace", "Cluster");
/** Core secrets. */
export const SECRETS = builtin<Secret>("", "secrets", "Secret", "Namespaced");
/** Core config maps. */
export const CONFIG_MAPS = builtin<ConfigMap>("", "configmaps", "ConfigMap", "Namespaced");
/** Core service accounts. */
export const SERVICE_ACCOUNTS = builtin<ServiceAccount>(
  "",
  "serviceaccounts",
  "ServiceAccount",
  "Namespaced",
);
/** RBAC roles. */
export const ROLES = builtin<Role>(RBAC, "roles", "Role", "Namespaced");
/** RBAC role bindings. */
export const ROLE_BINDINGS = builtin<RoleBinding>(
  RBAC,
  "rolebindings",
  "RoleBinding",
  "Namespaced",
);
/** RBAC cluster roles. */
export const CLUSTER_ROLES = builtin<ClusterRole>(RBAC, "clusterroles", "ClusterRole", "Cluster");
/** RBAC cluster role bindings. */
export const CLUSTER_ROLE_BINDINGS = builtin<ClusterRoleBinding>(
  RBAC,
  "clusterrolebindings",
  "ClusterRoleBinding",
  "Cluster",
);
/** Coordination leases: heartbeats and leader locks. */
export const LEASES = builtin<Lease>("coordination.k8s.io", "leases", "Lease", "Namespaced");
/** Events of the events.k8s.io group. */
export const EVENTS = builtin<Event>("events.k8s.io", "events", "Event", "Namespaced");
/** Custom resource definitions. */
export const CRDS = builtin<CustomResourceDefinition>(
  "apiextensions.k8s.io",
  "customresourcedefinitions",
  "CustomResourceDefinition",
  "Cluster",
);
/** Deployments. */
export const DEPLOYMENTS = builtin<Deployment>("apps", "deployments", "Deployment", "Namespaced");

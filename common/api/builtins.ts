/** The parts of object metadata that this project reads or writes. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  /** RFC 3339. */
  creationTimestamp?: string;
  /** RFC 3339; present once a delete was accepted and finalizers are pending. */
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

/** A link from a dependent object to the object it is garbage-collected with. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
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
export interface Condition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  /** RFC 3339. */
  lastTransitionTime: string;
  observedGeneration?: number;
}

/** The standard label selector: every pair and every expression must hold. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelSelectorRequirement[];
}

/** One set-based condition of a label selector. */
export interface LabelSelectorRequirement {
  key: string;
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  values?: string[];
}

/** A core/v1 Namespace. */
export interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: "Active" | "Terminating" };
}

/** A core/v1 Secret; values in `data` are base64, values in `stringData` are write-only text. */
export interface Secret extends KubeObject {
  type?: string;
  immutable?: boolean;
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}

/** A core/v1 ConfigMap. */
export interface ConfigMap extends KubeObject {
  immutable?: boolean;
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

/** A core/v1 ServiceAccount. */
export interface ServiceAccount extends KubeObject {
  automountServiceAccountToken?: boolean;
}

/** One line of permissions in a Role or ClusterRole. */
export interface PolicyRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

/** Who a RoleBinding or ClusterRoleBinding gives permissions to. */
export interface RbacSubject {
  kind: "ServiceAccount" | "User" | "Group";
  name: string;
  apiGroup?: string;
  namespace?: string;
}

/** The role a binding hands out; the API server never lets it change. */
export interface RoleRef {
  apiGroup: string;
  kind: "Role" | "ClusterRole";
  name: string;
}

/** An rbac.authorization.k8s.io/v1 Role. */
export interface Role extends KubeObject {
  rules?: PolicyRule[];
}

/** An rbac.authorization.k8s.io/v1 ClusterRole. */
export interface ClusterRole extends KubeObject {
  rules?: PolicyRule[];
  /** Whose rules Kubernetes puts in the place of its own. */
  aggregationRule?: { clusterRoleSelectors?: LabelSelector[] };
}

/** An rbac.authorization.k8s.io/v1 RoleBinding. */
export interface RoleBinding extends KubeObject {
  roleRef: RoleRef;
  subjects?: RbacSubject[];
}

/** An rbac.authorization.k8s.io/v1 ClusterRoleBinding. */
export interface ClusterRoleBinding extends KubeObject {
  roleRef: RoleRef;
  subjects?: RbacSubject[];
}

/** A coordination.k8s.io/v1 Lease; times are RFC 3339 with microseconds. */
export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

/** An events.k8s.io/v1 Event; `note` is its human-readable text. */
export interface Event extends KubeObject {
  /** RFC 3339 with microseconds. */
  eventTime: string;
  reportingController: string;
  reportingInstance: string;
  action: string;
  reason: string;
  type: "Normal" | "Warning";
  note?: string;
  regarding?: ObjectReference;
}

/** A pointer to another object, as Events carry it. */
export interface ObjectReference {
  apiVersion: string;
  kind: string;
  name: string;
  namespace?: string;
  uid?: string;
}

/** An apiextensions.k8s.io/v1 CustomResourceDefinition, without the parts nobody here reads. */
export interface CustomResourceDefinition extends KubeObject {
  spec: {
    group: string;
    scope: "Cluster" | "Namespaced";
    names: {
      plural: string;
      kind: string;
      singular?: string;
      listKind?: string;
      shortNames?: string[];
      categories?: string[];
    };
    versions: CustomResourceVersion[];
  };
  status?: { conditions?: CustomResourceDefinitionCondition[] };
}

/** One served or stored version of a custom resource. */
export interface CustomResourceVersion {
  name: string;
  served: boolean;
  storage: boolean;
  schema?: { openAPIV3Schema?: Record<string, unknown> };
  subresources?: { status?: Record<string, never>; scale?: Record<string, unknown> };
  additionalPrinterColumns?: { name: string; type: string; jsonPath: string }[];
}

/** A condition of a CRD such as `Established`; older than the shared layout, so looser. */
export interface CustomResourceDefinitionCondition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

/** An apps/v1 Deployment; the pod template stays opaque because only manifests write it. */
export interface Deployment extends KubeObject {
  spec: {
    replicas?: number;
    selector: LabelSelector;
    template: {
      metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
      spec: Record<string, unknown>;
    };
  };
  status?: { readyReplicas?: number; observedGeneration?: number };
}

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

/**
 * The JSON bodies of the HTTP API. Each is one shape, which gives its type, its parser (for bodies
 * that others sent) and its schema in the OpenAPI document.
 */
import {
  anything,
  count,
  flag,
  type Infer,
  known,
  list,
  name,
  nonempty,
  oneOf,
  record,
  refined,
  request,
  text,
  time,
} from "../shape.ts";

const DIRECTION = oneOf("FromProvider", "FromConsumer");

/** `GET /api/provider` */
export const PROVIDER_INFO = record({
  name: text("Name of the provider for people"),
  // `oidc` always, then `kubernetes` when provider tokens are accepted.
  authMethods: list(known("oidc", "kubernetes")),
  applyEnabled: flag("Whether POST /api/apply exists"),
}, { version: text("Version of the backend") });
/** Who offers this, and how to sign in. */
export type ProviderInfo = Infer<typeof PROVIDER_INFO>;

const SUBJECT = { subject: name("Identifies the person or account") };
const IDENTITY_DETAILS = {
  displayName: text("Name for people"),
  groups: list(text("Group; a permission only if the provider's RBAC decides")),
};
/** The identity in a session and in a Grant. */
export const IDENTITY = record(SUBJECT, IDENTITY_DETAILS);
/** A person or an account: the subject identifies. Groups count only if RBAC decides. */
export type Identity = Infer<typeof IDENTITY>;

/** `GET /api/me` */
export const ME = record(SUBJECT, {
  ...IDENTITY_DETAILS,
  kubernetes: record({
    user: text("User name"),
    groups: list(text("Group name")),
  }),
});
/** The caller, and the names by which the provider's RBAC knows the caller, if it decides. */
export type Me = Infer<typeof ME>;

const CATALOG_RELATED_RESOURCE = record({
  resource: text("secrets or configmaps"),
  direction: DIRECTION,
}, { selector: text("Selected objects for people, such as app=x,tier in (a,b); names: c, d") });
/** A related-resource rule in a form for people. */
export type CatalogRelatedResource = Infer<typeof CATALOG_RELATED_RESOURCE>;

const CATALOG_EXPORT = record({
  name: name("Name of the Export"),
  title: text("Title for people"),
  apis: list(text("<plural>.<group>")),
}, {
  description: text("Description for people"),
  iconURL: text("URL of its icon"),
  docs: text("URL of its documentation"),
  relatedResources: list(CATALOG_RELATED_RESOURCE),
  bindable: flag("False if the caller may not bind it; otherwise absent"),
});
/** One Ready Export as people see it. */
export type CatalogExport = Infer<typeof CATALOG_EXPORT>;

const CATALOG_COLLECTION = record({
  name: name("Name of the Collection"),
  title: text("Title for people"),
  exports: list(text("Name of a visible Export, in the Collection's order")),
}, { description: text("Description for people") });
/** A Collection with at least one visible Export. */
export type CatalogCollection = Infer<typeof CATALOG_COLLECTION>;

/** `GET /api/catalog` */
export const CATALOG = record({ exports: list(CATALOG_EXPORT) }, {
  collections: list(CATALOG_COLLECTION),
  bindableUnknown: flag(
    "True if it is not known which Exports the caller may bind; otherwise absent",
  ),
});
/** The Ready Exports and their Collections. */
export type Catalog = Infer<typeof CATALOG>;

const INSTANCE = record({
  api: text("<plural>.<group>, or secrets or configmaps"),
  name: name("Name of the object"),
  createdAt: time("When it was created on the provider"),
}, {
  related: flag("True for related resources"),
  direction: DIRECTION,
  namespace: text("Absent for cluster-scoped objects"),
  clusterUID: text("UID of the consumer cluster it came from"),
  clusterName: text("Name that its identity gave that cluster"),
  identity: text("Display name of the identity behind that cluster"),
});
/** One object that a consumer synced, or a related resource. */
export type Instance = Infer<typeof INSTANCE>;

const PROBLEM = record({
  api: text("<plural>.<group>"),
  name: name("Name of the object on the consumer"),
  reason: text("Such as Rejected, ForeignObjectExists or OwnedByAnother"),
  message: text("What the consumer's konnector says about it; may be empty"),
  clusterUID: text("UID of the consumer cluster"),
}, {
  namespace: text("Absent for cluster-scoped objects"),
  clusterName: text("Name that the identity gave that cluster"),
  identity: text("Display name of the identity"),
});
/** An object on a consumer that is not synced, or whose last change is not. */
export type Problem = Infer<typeof PROBLEM>;

/** `GET /api/catalog/{export}/instances` */
export const INSTANCES = record({
  export: text("Name of the Export"),
  instances: list(INSTANCE),
}, {
  problems: list(PROBLEM),
  moreProblems: count("Number of further objects that are not synced, and not listed"),
});
/** The objects that consumers synced under an Export. */
export type Instances = Infer<typeof INSTANCES>;

const SYNCED_API = record({ name: text("<plural>.<group>") }, {
  syncedCount: count(
    "Number of objects synced from this cluster; absent (unknown, not 0) while the provider " +
      "cannot list the API",
  ),
});
/** An API of a Grant, and how many of its objects a cluster synced. */
export type SyncedApi = Infer<typeof SYNCED_API>;

const total = (description: string) =>
  refined(count(description), (n) => Number.isSafeInteger(n) && n >= 0, "is no count");

/** The totals in a heartbeat, which any tenant can write, and in the answer about clusters. */
export const SYNC_TOTALS = record({
  objects: total("Number of objects on the consumer"),
  conflicts: total("Number of objects in conflict with others on the provider"),
  rejected: total("Number of objects that the provider refused, or with a wrong annotation"),
});
/** How many objects of a Connection are in which state. */
export type SyncTotals = Infer<typeof SYNC_TOTALS>;

const CLUSTER_GRANT = record({
  grant: text("Name of the Grant"),
  export: text("Name of the Export"),
  lastHeartbeat: time("Last renewal of its Lease"),
  live: flag("Whether the Lease was renewed within twice its duration"),
  apis: list(SYNCED_API),
}, {
  identity: text("Display name of the identity"),
  subject: text("Subject of the identity"),
  boundaryNamespace: text("Its namespace on the provider"),
  clusterName: text("Name that this identity gave the cluster"),
  konnectorVersion: text("Version of the konnector that uses the Grant"),
  sync: SYNC_TOTALS,
});
/** One Grant in use by a cluster. */
export type ClusterGrant = Infer<typeof CLUSTER_GRANT>;

const CLUSTER = record({
  uid: text("UID of the consumer cluster"),
  lastHeartbeat: time("Last heartbeat of any of its bindings"),
  live: flag("Whether one of its bindings is live"),
  bindings: list(CLUSTER_GRANT),
}, { name: text("Name for people; absent if several identities claim the cluster") });
/** A consumer cluster that sends heartbeats, or did. */
export type Cluster = Infer<typeof CLUSTER>;

const PENDING_GRANT = record({
  grant: text("Name of a Grant that no cluster has used yet"),
  export: text("Name of the Export"),
  createdAt: time("When it was created"),
}, { identity: text("Display name of the identity") });
/** A Grant that no cluster has used yet. */
export type PendingGrant = Infer<typeof PENDING_GRANT>;

const TRUNCATED_BOUNDARY = record({
  boundaryNamespace: text("A namespace with more heartbeat Leases than the gateway keeps"),
  leases: count("Number of Leases in it; the answer shows the clusters of the newest only"),
});
/** A namespace with more heartbeat Leases than the gateway keeps. */
export type TruncatedBoundary = Infer<typeof TRUNCATED_BOUNDARY>;

/** `GET /api/clusters` */
export const CLUSTERS = record({ clusters: list(CLUSTER) }, {
  pending: list(PENDING_GRANT),
  truncated: list(TRUNCATED_BOUNDARY),
});
/** The consumer clusters, and the Grants that none of them uses. */
export type Clusters = Infer<typeof CLUSTERS>;

/** Body of `POST /api/bind` */
export const BIND_REQUEST = request("The Export to bind", {
  export: nonempty("Name of a Ready Export"),
});
/** The Export to bind. */
export type BindRequest = Infer<typeof BIND_REQUEST>;

/** Answer of `POST /api/bind` */
export const BIND_RESULT = record({
  grant: name("Name of the Grant"),
  pickupURL: name("Relative to the gateway's root; can be used once"),
  expiresAt: time("When the pickup URL expires"),
});
/** The Grant of a bind, and where to pick its bundle up. */
export type BindResult = Infer<typeof BIND_RESULT>;

/** `GET /api/bundle/{token}` as JSON */
export const BUNDLE = record({ bundle: list(anything({ type: "object" })) });
/** The Secret, Connection and ClusterBinding to apply, in this order; the reader checks them. */
export type BundleBody = Infer<typeof BUNDLE>;

/** Body of `POST /api/apply` */
export const APPLY_REQUEST = request("The Export or the konnector to apply to a consumer cluster", {
  kubeconfig: nonempty("Base64 of a consumer kubeconfig with inline credentials only"),
}, {
  export: text("Name of a Ready Export; may be left out"),
  installKonnector: flag("Install or upgrade the konnector first; required without an export"),
});
/** The Export or the konnector to apply, and the consumer cluster. */
export type ApplyRequest = Infer<typeof APPLY_REQUEST>;

/** Answer of `POST /api/apply` */
export const APPLY_RESULT = record({ applied: list(text("Kind/name, in the order of applying")) });
/** The objects that were applied. */
export type ApplyResult = Infer<typeof APPLY_RESULT>;

/** Every failure that is told as JSON */
export const ERROR_BODY = record({ error: name("What failed, and what to do") });
/** A failure in words. */
export type ErrorBody = Infer<typeof ERROR_BODY>;

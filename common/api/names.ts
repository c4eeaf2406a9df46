import { createHash } from "node:crypto";

/** Namespace on a consumer that holds the konnector and the bundle's Secret. */
export const CONSUMER_NAMESPACE = "xbind";
/** The default konnector image. */
export const KONNECTOR_IMAGE = "ghcr.io/xbind/konnector:latest";

/** Names of the single cluster, user and context in a bundle's kubeconfig. */
export const BUNDLE_KUBECONFIG = {
  cluster: "provider",
  user: "xbind",
  context: "provider",
} as const;

/** Field managers, one per purpose: with a shared one, an apply would delete other fields. */
export const FIELD_MANAGERS = {
  crds: "xbind-crds",
  issuer: "xbind-issuer",
  exports: "xbind-exports",
  authorizer: "xbind-authorizer",
  reaper: "xbind-reaper",
  leader: "xbind-leader",
  gateway: "xbind-gateway",
  cli: "xbind-cli",
  installer: "xbind-installer",
  konnector: "xbind-konnector",
  konnectorRelated: "xbind-konnector-related",
} as const;

/** One of our field managers. */
export type FieldManager = typeof FIELD_MANAGERS[keyof typeof FIELD_MANAGERS];

/** Label keys. */
export const LABELS = {
  /** On a provider CRD, value `true`: it may be exported. */
  exported: "core.xbind.io/exported",
  /** On synced objects, heartbeat Leases and boundary namespaces, value `true`: made by xbind. */
  managed: "core.xbind.io/managed",
  /** On synced objects and related copies, for the konnector's watch: the consumer cluster. */
  consumerClusterUid: "core.xbind.io/consumer-cluster-uid",
  /** On every object that the issuer creates for a Grant: the Grant's name. */
  grant: "iam.xbind.io/grant",
  /** On a boundary namespace: the identity hash. */
  identity: "iam.xbind.io/identity",
} as const;

/** Annotation keys. */
export const ANNOTATIONS = {
  /** On Leases, synced objects and pulled CRDs: the Connection's name, which is the Grant's. */
  connection: "core.xbind.io/connection",
  /** On Leases, synced objects and related copies: the consumer cluster. */
  consumerClusterUid: "core.xbind.io/consumer-cluster-uid",
  /** On a synced object: the UID it has on the consumer. */
  consumerObjectUid: "core.xbind.io/consumer-object-uid",
  /** On a synced object: the generation of the consumer's object that was applied. */
  consumerGeneration: "core.xbind.io/consumer-generation",
  /** On a synced object: a hash of the consumer's content that was applied. */
  syncedHash: "core.xbind.io/synced-hash",
  /** On a consumer's object: why it is not synced, `ForeignObjectExists` or `OwnedByAnother`. */
  conflict: "core.xbind.io/conflict",
  /** On a consumer's object or a binding, value `Orphan`: the provider keeps its copy. */
  deletionPolicy: "core.xbind.io/deletion-policy",
  /** On a consumer's object, value `true`: a copy that cannot change is deleted and recreated. */
  replace: "core.xbind.io/replace",
  /** On a consumer's object: why the provider refused its content. */
  syncError: "core.xbind.io/sync-error",
  /** On a consumer's object, value `CreateOnly`: its copy is created, but not changed later. */
  syncPolicy: "core.xbind.io/sync-policy",
  /** On a consumer's object: JSON pointers to fields that the provider decides about. */
  ignoredPaths: "core.xbind.io/ignored-paths",
  /** On a consumer's object, a binding or a Connection, value `true`: nothing is synced. */
  paused: "core.xbind.io/paused",
  /** On a binding, value `true`: unbinding keeps the pulled CRDs and the consumer's objects. */
  keepCrd: "core.xbind.io/keep-crd",
  /** On a pulled CRD: a hash of the schema that was installed. */
  schemaHash: "core.xbind.io/schema-hash",
  /** On a pulled CRD: the hash of a schema to install, although stored objects may not fit it. */
  acceptSchema: "core.xbind.io/accept-schema",
  /** On a heartbeat Lease: the version of the konnector. */
  konnectorVersion: "core.xbind.io/konnector-version",
  /** On a heartbeat Lease: the name that people gave the consumer cluster. */
  clusterName: "core.xbind.io/cluster-name",
  /** On a heartbeat Lease: how many objects are synced, in conflict or refused, as JSON. */
  syncSummary: "core.xbind.io/sync-summary",
  /** On a related copy: the binding it came with. */
  relatedBinding: "core.xbind.io/related-binding",
  /** On a Grant: hex SHA-256 of the pickup's secret part. */
  pickupSha256: "iam.xbind.io/pickup-sha256",
  /** On a Grant: when the unused pickup ends, RFC 3339. */
  pickupExpiry: "iam.xbind.io/pickup-expiry",
  /** On a Grant: when the pickup was used, RFC 3339. */
  pickupConsumed: "iam.xbind.io/pickup-consumed",
  /** On a Grant: its last bind, RFC 3339. */
  boundAt: "iam.xbind.io/bound-at",
  /** On a Grant: until when a bind waits for it, RFC 3339. The issuer takes it before a backlog. */
  wantedUntil: "iam.xbind.io/wanted-until",
  /** On a Grant: since when its consumer is silent, RFC 3339. */
  staleSince: "iam.xbind.io/stale-since",
  /** On a Grant, value `approved`: an operator lets it be reaped during a hold. */
  reap: "iam.xbind.io/reap",
  /** On a boundary namespace: the reaper's mark, the UID of the reaped Grant. */
  reapBoundary: "iam.xbind.io/reap-boundary",
  /** On our CRDs: the version of xbind that installed them. */
  crdVersion: "core.xbind.io/crd-version",
  /** On our CRDs: a digest of the installed CRD. */
  crdDigest: "core.xbind.io/crd-digest",
} as const;

/** Finalizer on a Grant: the issuer revokes before the Grant goes. */
export const CLEANUP_FINALIZER = "iam.xbind.io/cleanup";

/** Finalizer on Connections, bindings and their Secrets: the konnector cleans up before they go. */
export const CORE_CLEANUP_FINALIZER = "core.xbind.io/cleanup";
/** Finalizer on a consumer's object: the konnector deletes the provider's copy first. */
export const SYNCER_FINALIZER = "core.xbind.io/syncer";

const IDENTITY_HASH_LENGTH = 20;
const GRANT_NAME_LIMIT = 63;
const GRANT_PREFIX_LENGTH = 33;
const EXPORT_HASH_LENGTH = 8;
const LEASE_UID_LENGTH = 10;
const NAME_LIMIT = 253;

const sha256Hex = (text: string) => createHash("sha256").update(text, "utf8").digest("hex");

/** Hashes of recent subjects: a reconcile needs one repeatedly, and each hash leaves garbage. */
const identityHashes = new Map<string, string>();
const IDENTITY_HASHES_KEPT = 100;

/** Returns the short, stable fingerprint of an identity. */
export const identityHash = (subject: string): string => {
  const kept = identityHashes.get(subject);
  if (kept !== undefined) return kept;
  const hash = sha256Hex(subject).slice(0, IDENTITY_HASH_LENGTH);
  if (identityHashes.size === IDENTITY_HASHES_KEPT) identityHashes.clear();
  identityHashes.set(subject, hash);
  return hash;
};

/** Returns the boundary namespace of the identity with this subject. */
export const boundaryName = (subject: string): string => boundaryNameOf(identityHash(subject));

/** Returns the boundary namespace of the identity with this hash. */
export const boundaryNameOf = (hash: string): string => `xbind-${hash}`;

const BOUNDARY = new RegExp(`^xbind-[0-9a-f]{${IDENTITY_HASH_LENGTH}}$`);

/** Returns whether a namespace of this name is a boundary. */
export const isBoundaryName = (namespace: string): boolean => BOUNDARY.test(namespace);

/** Returns the name of the Grant of an Export and an identity, at most 63 characters. */
export const grantName = (exportName: string, subject: string): string => {
  const hash = identityHash(subject);
  const plain = `${exportName}-${hash}`;
  if (plain.length <= GRANT_NAME_LIMIT) return plain;
  const prefix = exportName.slice(0, GRANT_PREFIX_LENGTH).replace(/[-.]+$/, "");
  return `${prefix}-${sha256Hex(exportName).slice(0, EXPORT_HASH_LENGTH)}-${hash}`;
};

/** Returns the name of the Secret with a Grant's ServiceAccount token. */
export const tokenSecretName = (grant: string): string => `${grant}-token`;

/** Returns the name of a Grant's ClusterRole and ClusterRoleBinding. */
export const clusterRoleName = (grant: string): string => `xbind:grant:${grant}`;

/** Returns the name of the heartbeat Lease of a consumer cluster and a Connection. */
export const heartbeatLeaseName = (connection: string, consumerClusterUid: string): string => {
  const suffix = consumerClusterUid.slice(0, LEASE_UID_LENGTH);
  if (connection.length + 1 + suffix.length <= NAME_LIMIT) return `${connection}-${suffix}`;
  const hash = sha256Hex(connection).slice(0, EXPORT_HASH_LENGTH);
  const room = NAME_LIMIT - hash.length - suffix.length - 2;
  return `${connection.slice(0, room).replace(/[-.]+$/, "")}-${hash}-${suffix}`;
};

const LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const DNS_LABEL = new RegExp(`^${LABEL}$`);
const DNS_SUBDOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);

/** Returns whether the text is a DNS label, as the names of Namespaces are. */
export const isDnsLabel = (text: string): boolean => text.length <= 63 && DNS_LABEL.test(text);

/** Returns whether the text is a DNS subdomain, as the names of Exports are. */
export const isDnsSubdomain = (text: string): boolean =>
  text.length <= 253 && DNS_SUBDOMAIN.test(text);

const CLUSTER_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,61}[A-Za-z0-9])?$/;

/** Returns whether people may call a consumer cluster by this text. */
export const isClusterName = (text: string): boolean => CLUSTER_NAME.test(text);

/** Returns the name of a cluster that people gave none: the first block of its UID. */
export const defaultClusterName = (clusterUid: string): string => clusterUid.split("-", 1)[0] ?? "";

/** The parts of an API's name. */
export interface ApiName {
  plural: string;
  group: string;
}

/** Splits `<plural>.<group>` at the first dot. Returns undefined for any other text. */
export const parseApiName = (name: string): ApiName | undefined => {
  if (name.length > 253) return undefined;
  const dot = name.indexOf(".");
  const [plural, group] = [name.slice(0, dot), name.slice(dot + 1)];
  return dot > 0 && isDnsLabel(plural) && isDnsSubdomain(group) ? { plural, group } : undefined;
};

/** Returns whether a group belongs to Kubernetes. */
export const isKubernetesGroup = (group: string): boolean =>
  ["k8s.io", "kubernetes.io"].some((own) => group === own || group.endsWith(`.${own}`));

/** Returns whether a group is one of ours, which no Export may offer. */
export const isReservedGroup = (group: string): boolean =>
  group === "xbind.io" || group.endsWith(".xbind.io");

/** JSON shapes of the HTTP API, shared by the gateway, the command-line client and the UI. */
import type { ClusterBinding, Connection, Secret } from "./resources.ts";

/** `GET /api/provider` */
export interface ProviderInfo {
  readonly name: string;
  readonly version?: string;
  /** `oidc` always, then `kubernetes` when provider tokens are accepted. */
  readonly authMethods: readonly ("oidc" | "kubernetes")[];
  readonly applyEnabled: boolean;
}

/** `GET /api/me` */
export interface Me {
  readonly subject: string;
  readonly displayName?: string;
  readonly groups?: readonly string[];
}

/** Whom a session token stands for: what the gateway seals in it, and what it tells of it. */
export type SessionIdentity = Me;

/** `GET /api/catalog` */
export interface Catalog {
  readonly exports: readonly CatalogExport[];
  readonly collections?: readonly CatalogCollection[];
}

/** One Ready Export as people see it. */
export interface CatalogExport {
  readonly name: string;
  readonly title: string;
  readonly description?: string;
  /** `<plural>.<group>` */
  readonly apis: readonly string[];
  readonly iconURL?: string;
  readonly docs?: string;
  readonly relatedResources?: readonly CatalogRelatedResource[];
}

/** A related-resource rule in a form for people. */
export interface CatalogRelatedResource {
  readonly resource: string;
  readonly direction: "FromProvider" | "FromConsumer";
  /** Such as `app=x,tier in (a,b); names: c, d`. */
  readonly selector?: string;
}

/** A Collection with at least one visible Export. */
export interface CatalogCollection {
  readonly name: string;
  readonly title: string;
  readonly description?: string;
  /** Names of visible Exports, in the Collection's order. */
  readonly exports: readonly string[];
}

/** `GET /api/catalog/{export}/instances` */
export interface Instances {
  readonly export: string;
  readonly instances: readonly Instance[];
}

/** One object that a consumer synced, or that travels along. */
export interface Instance {
  readonly api: string;
  readonly related?: true;
  readonly direction?: "FromProvider" | "FromConsumer";
  readonly namespace?: string;
  readonly name: string;
  readonly clusterUID?: string;
  /** Display name of the identity behind the cluster. */
  readonly identity?: string;
  readonly createdAt: string;
}

/** `GET /api/clusters` */
export interface Clusters {
  readonly clusters: readonly Cluster[];
  readonly pending?: readonly PendingGrant[];
  /** Boundaries with more heartbeat Leases than are kept; the clusters of the others are missing. */
  readonly truncated?: readonly TruncatedBoundary[];
}

/** A namespace with more heartbeat Leases than are kept. */
export interface TruncatedBoundary {
  readonly boundaryNamespace: string;
  /** How many it holds. */
  readonly leases: number;
}

/** A consumer cluster that sends heartbeats, or did. */
export interface Cluster {
  readonly uid: string;
  readonly lastHeartbeat: string;
  readonly live: boolean;
  readonly bindings: readonly ClusterGrant[];
}

/** One Grant in use by a cluster. */
export interface ClusterGrant {
  readonly grant: string;
  readonly export: string;
  /** Display name. */
  readonly identity?: string;
  readonly subject?: string;
  readonly boundaryNamespace?: string;
  readonly lastHeartbeat: string;
  readonly live: boolean;
  readonly apis: readonly SyncedApi[];
}

/** An API of a Grant, and how many of its objects a cluster synced. */
export interface SyncedApi {
  readonly name: string;
  /** Absent while the provider cannot list the API: unknown, not 0. */
  readonly syncedCount?: number;
}

/** A Grant that no cluster has used yet. */
export interface PendingGrant {
  readonly grant: string;
  readonly export: string;
  readonly identity?: string;
  readonly createdAt: string;
}

/** Body of `POST /api/bind` */
export interface BindRequest {
  readonly export: string;
}

/** Answer of `POST /api/bind` */
export interface BindResult {
  readonly grant: string;
  /** Relative to the gateway's root. */
  readonly pickupURL: string;
  readonly expiresAt: string;
}

/** `GET /api/bundle/{token}` as JSON: what a consumer applies, in this order. */
export interface Bundle {
  readonly bundle: readonly [Secret, Connection, ClusterBinding];
}

/** Body of `POST /api/apply` */
export interface ApplyRequest {
  readonly export?: string;
  /** Base64 of a consumer kubeconfig. */
  readonly kubeconfig: string;
  readonly installKonnector?: boolean;
}

/** Answer of `POST /api/apply`: `Kind/name` of every object, in order. */
export interface ApplyResult {
  readonly applied: readonly string[];
}

/** Every failure that is told as JSON. */
export interface ErrorBody {
  readonly error: string;
}

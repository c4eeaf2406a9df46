/** API group of the catalog: Export, Collection. */
export const CATALOG_GROUP = "catalog.xbind.io";
/** API group of identities and credentials: Grant. */
export const IAM_GROUP = "iam.xbind.io";
/** API group of the consumer side: Connection, ClusterBinding, Binding. */
export const CORE_GROUP = "core.xbind.io";
/** The version all our kinds are served in. */
export const API_VERSION = "v1alpha1";
/** `apiVersion` of Export and Collection. */
export const CATALOG_API_VERSION = `${CATALOG_GROUP}/${API_VERSION}` as const;
/** `apiVersion` of Grant. */
export const IAM_API_VERSION = `${IAM_GROUP}/${API_VERSION}` as const;
/** `apiVersion` of Connection, ClusterBinding and Binding. */
export const CORE_API_VERSION = `${CORE_GROUP}/${API_VERSION}` as const;

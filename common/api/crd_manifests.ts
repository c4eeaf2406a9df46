import manifests from "./crds_generated.json" with { type: "json" };
import type { CustomResourceDefinition } from "./resources.ts";

/** Returns copies, because callers may change them. */
const crds = (...names: (keyof typeof manifests)[]): CustomResourceDefinition[] =>
  names.map((name) => structuredClone(manifests[name]) as CustomResourceDefinition);

/** The CRDs of the provider: Exports, Collections and Grants. */
export const serviceCrds = (): CustomResourceDefinition[] =>
  crds("collections.catalog.xbind.io", "exports.catalog.xbind.io", "grants.iam.xbind.io");

/** The CRDs of a consumer: Bindings, ClusterBindings and Connections. */
export const coreCrds = (): CustomResourceDefinition[] =>
  crds("bindings.core.xbind.io", "clusterbindings.core.xbind.io", "connections.core.xbind.io");

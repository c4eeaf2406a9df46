import { parse } from "yaml";
import bindings from "../../crds/bindings.core.xbind.io.yaml" with { type: "text" };
import clusterBindings from "../../crds/clusterbindings.core.xbind.io.yaml" with { type: "text" };
import collections from "../../crds/collections.catalog.xbind.io.yaml" with { type: "text" };
import connections from "../../crds/connections.core.xbind.io.yaml" with { type: "text" };
import exports from "../../crds/exports.catalog.xbind.io.yaml" with { type: "text" };
import grants from "../../crds/grants.iam.xbind.io.yaml" with { type: "text" };
import type { CustomResourceDefinition } from "./resources.ts";

const parsed = (texts: string[]): CustomResourceDefinition[] => texts.map((text) => parse(text));

/** The CRDs of the provider: Exports, Collections and Grants. */
export const serviceCrds = (): CustomResourceDefinition[] => parsed([collections, exports, grants]);

/** The CRDs of a consumer: Bindings, ClusterBindings and Connections. */
export const coreCrds = (): CustomResourceDefinition[] =>
  parsed([bindings, clusterBindings, connections]);

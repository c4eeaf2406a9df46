import type { ApiName } from "../../common/api/names.ts";
import type {
  CustomResourceDefinition,
  CustomResourceVersion,
} from "../../common/api/resources.ts";
import { incompatibleChanges } from "./compatible_change.ts";
import { compareVersions, CrdRefusedError } from "./consumer_crd.ts";
import type { Schema } from "./schema.ts";
import { type Schemas, structuralSchema } from "./structural_schema.ts";

/** A resource as discovery shows it. */
export interface DiscoveredResource {
  readonly kind: string;
  readonly namespaced: boolean;
  readonly singularName?: string | undefined;
  readonly shortNames?: readonly string[] | undefined;
  readonly categories?: readonly string[] | undefined;
  readonly hasStatus: boolean;
}

/** One served version of an API. */
export interface DiscoveredVersion {
  readonly name: string;
  readonly resource: DiscoveredResource;
  /** The schemas of the version's OpenAPI document. */
  readonly schemas: Schemas;
}

/**
 * Builds the CRD of an API from what a provider publishes about it. The newest version is stored.
 * Other versions are included if their objects fit the newest, because OpenAPI does not say whether
 * the provider converts.
 */
export function crdFromOpenApi(
  { plural, group }: ApiName,
  versions: readonly DiscoveredVersion[],
): CustomResourceDefinition {
  const sorted = versions.toSorted((a, b) => compareVersions(b.name, a.name));
  const [newest] = sorted;
  if (!newest) throw new CrdRefusedError("it has no served version");
  const { kind, namespaced, singularName, shortNames, categories } = newest.resource;
  const names = {
    plural,
    kind,
    ...(singularName ? { singular: singularName } : {}),
    ...(shortNames?.length ? { shortNames: [...shortNames] } : {}),
    ...(categories?.length ? { categories: [...categories] } : {}),
  };
  const scope = namespaced ? "Namespaced" : "Cluster";
  const spec = (...of: CustomResourceVersion[]) => ({ group, scope, names, versions: of });
  const stored = versionOf(group, newest, true);
  const others = sorted.slice(1)
    .filter(({ resource }) => resource.kind === kind && resource.namespaced === namespaced)
    .map((each) => versionOf(group, each, false))
    .filter((each) =>
      incompatibleChanges(spec(each), spec({ ...stored, name: each.name })).length === 0
    );
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: spec(stored, ...others),
  };
}

function versionOf(
  group: string,
  { name, resource: { kind, hasStatus }, schemas }: DiscoveredVersion,
  storage: boolean,
): CustomResourceVersion {
  const isOfKind = (schema: Schema | null): boolean => {
    const kinds = schema?.["x-kubernetes-group-version-kind"];
    return Array.isArray(kinds) &&
      kinds.some((each: Record<string, unknown> | null) =>
        each?.["group"] === group && each["version"] === name && each["kind"] === kind
      );
  };
  const root = Object.values(schemas).find(isOfKind);
  if (!root) throw new CrdRefusedError(`its version ${name} has no schema`);
  return {
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: structuralSchema(root, schemas) },
    ...(hasStatus ? { subresources: { status: {} } } : {}),
  };
}

import { isDnsLabel, isDnsSubdomain } from "../../common/api/names.ts";
import type { DiscoveredResource } from "../schema/crd_from_openapi.ts";
import { groupFault } from "../schema/group_fault.ts";
import { hashOf } from "../sync/records.ts";
import type { ProviderApi } from "./api_source.ts";
import type { OwnRights } from "./own_rights.ts";

/** A group and version that the provider serves. */
export interface GroupVersion {
  readonly group: string;
  readonly version: string;
  /** Changes when its OpenAPI document does. */
  readonly hash: string;
}

/** A group and version with its resources, by plural name. */
export interface Resources extends GroupVersion {
  /**
   * Whether the check before had the same hash. Until then it is read again, because discovery and
   * other replicas of the API server may be behind.
   */
  readonly isSettled: boolean;
  readonly resources: ReadonlyMap<string, DiscoveredResource>;
}

/** An API with the versions in which it is served. */
export interface PublishedApi extends ProviderApi {
  readonly versions: readonly { readonly name: string; readonly resource: DiscoveredResource }[];
}

/** A group with more is read in part. */
const MOST_RESOURCES = 1_000;
const MOST_VERSIONS = 20;

/** A resource in the answer of discovery. */
export interface RawResource {
  readonly name?: string;
  readonly kind?: string;
  readonly namespaced?: boolean;
  readonly singularName?: string;
  readonly shortNames?: string[];
  readonly categories?: string[];
}

/** Reads `apis/<group>/<version>`. Groups of Kubernetes and xbind are never pulled. */
export function groupVersionOf(path: string, url: string): GroupVersion | undefined {
  const [prefix, group = "", version = "", ...rest] = path.split("/");
  const isApi = prefix === "apis" && rest.length === 0 && isDnsSubdomain(group) &&
    group.includes(".") && isDnsLabel(version);
  if (!isApi || groupFault(group) !== undefined) return undefined;
  return { group, version, hash: hashOf(String(url)) };
}

/** Reads the resources of a group and version, without subresources. */
export function resourcesOf(list: readonly RawResource[]): Map<string, DiscoveredResource> {
  const resources = new Map<string, DiscoveredResource>();
  const names = new Set(list.map(({ name }) => name));
  for (const { name, kind, namespaced = false, ...more } of list.slice(0, MOST_RESOURCES)) {
    if (!name || !isDnsLabel(name) || !kind) continue; // also leaves subresources out
    const { singularName, shortNames, categories } = more;
    const hasStatus = names.has(`${name}/status`);
    resources.set(name, { kind, namespaced, singularName, shortNames, categories, hasStatus });
  }
  return resources;
}

/** Joins the versions of each API. */
export function apisOf(served: Iterable<Resources>, rights: OwnRights): Map<string, PublishedApi> {
  const apis = new Map<string, PublishedApi>();
  for (const { group, version, hash, isSettled, resources } of served) {
    for (const [plural, resource] of resources) {
      const name = `${plural}.${group}`;
      const known = apis.get(name);
      if (known && known.versions.length === MOST_VERSIONS) continue;
      apis.set(name, {
        name,
        isExported: rights.mayList({ plural, group }),
        version: `${known?.version ?? ""} ${hash}${isSettled ? "" : " new"}`,
        versions: [...known?.versions ?? [], { name: version, resource }],
      });
    }
  }
  return apis;
}

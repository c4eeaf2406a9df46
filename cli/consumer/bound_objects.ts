import {
  CRDS,
  type CustomResourceDefinition,
  type ResourceType,
} from "../../common/api/resources.ts";
import type { KubeClient, Selection } from "../../common/kube/client.ts";
import { isForbidden, isNotFound } from "../../common/kube/kube_error.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { listMetadata } from "./find_bound.ts";

/** The objects of one API on the consumer cluster. */
export interface ApiObjects {
  readonly api: string;
  readonly crd: CustomResourceDefinition;
  /** Undefined if the user may not list them. */
  readonly objects: readonly MetadataObject[] | undefined;
}

/** Lists the metadata of the objects of these APIs. Skips APIs that the cluster does not have. */
export async function boundObjects(
  kube: KubeClient,
  apis: readonly string[],
  signal: AbortSignal,
): Promise<ApiObjects[]> {
  const lists = await Promise.all([...new Set(apis)].map(async (api) => {
    const crd = await kube.find(CRDS, { name: api }, signal);
    const type = crd && servedType(crd);
    return type ? [{ api, crd, objects: await listed(kube, type, signal) }] : [];
  }));
  return lists.flat();
}

/** A kind of object with a count. */
export type Counted = Pick<ApiObjects, "api" | "objects">;

/** Describes counts, such as `12 widgets.example.org, 1 gadgets.example.org`. */
export const countsText = (lists: readonly Counted[]): string =>
  lists.map(({ api, objects }) => `${objects?.length ?? "an unknown number of"} ${api}`).join(", ");

/** Adds the objects up; unknown numbers count as one. */
export const countAll = (lists: readonly Counted[]): number =>
  lists.reduce((sum, { objects }) => sum + (objects?.length ?? 1), 0);

function servedType({ spec }: CustomResourceDefinition): ResourceType | undefined {
  const version = spec.versions.find(({ served }) => served)?.name;
  if (version === undefined) return undefined;
  const { group, names: { plural, kind }, scope } = spec;
  return { group, version, plural, kind, namespaced: scope === "Namespaced" };
}

/** Lists the metadata of objects. Returns undefined if the user may not list them. */
export async function listed(
  kube: KubeClient,
  type: ResourceType,
  signal: AbortSignal,
  selection: Selection = {},
): Promise<MetadataObject[] | undefined> {
  try {
    return await listMetadata(kube, type, selection, signal);
  } catch (error) {
    if (isForbidden(error)) return undefined;
    if (isNotFound(error)) return []; // it is not served yet, or no longer
    throw error;
  }
}

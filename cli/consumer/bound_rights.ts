import {
  BINDINGS,
  CLUSTER_BINDINGS,
  CLUSTER_ROLES,
  type KubeObject,
} from "../../common/api/resources.ts";
import { isKubernetesGroup, isReservedGroup, parseApiName } from "../../common/api/names.ts";
import {
  type BoundRights,
  isBoundOnly,
  withBoundRights,
} from "../../common/consumer/konnector_manifest.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isForbidden, isNotFound } from "../../common/kube/kube_error.ts";
import type { KonnectorPlan } from "./konnector_plan.ts";

/** APIs that are bound or will be, with their related resources. */
export interface Needs {
  readonly apis: readonly string[];
  /** Resources of related-resource rules, as a gateway tells them. */
  readonly related: readonly string[];
}

/** Nothing is bound. */
export const NO_NEEDS: Needs = { apis: [], related: [] };

/**
 * Returns what all bindings need if the konnector is limited to bound APIs, else undefined. Without
 * the flag its present limit stays.
 */
export async function boundNeeds(
  kube: KubeClient,
  wish: boolean | undefined,
  signal: AbortSignal,
): Promise<Needs | undefined> {
  const isWanted = wish ?? await isInstalledNarrow(kube, signal);
  if (!isWanted) return undefined;
  const bindings = [
    ...await kube.list(CLUSTER_BINDINGS, {}, signal).catch(noneIfNotFound),
    ...await kube.list(BINDINGS, {}, signal).catch(noneIfNotFound),
  ];
  return bindings.map(({ spec }) => ({
    apis: spec.apis.map(({ name }) => name),
    related: (spec.relatedResources ?? []).map(({ resource }) => resource),
  })).reduce(joined, NO_NEEDS);
}

/** Adds needs up. */
export const joined = (a: Needs, b: Needs): Needs => ({
  apis: [...a.apis, ...b.apis],
  related: [...a.related, ...b.related],
});

/** Says which rights meet the needs. APIs in groups that no konnector pulls give none. */
export function rightsFor({ apis, related }: Needs): BoundRights {
  const groups = apis.flatMap((api) => parseApiName(api)?.group ?? [])
    .filter((group) => group.includes(".") && !isReservedGroup(group) && !isKubernetesGroup(group));
  const copied = (["configmaps", "secrets"] as const).filter((each) => related.includes(each));
  return { groups: [...new Set(groups)].sort(), related: copied };
}

/** Returns the objects to install, with rights for these needs only if there are needs. */
export const konnectorObjects = (
  { objects }: Pick<KonnectorPlan, "objects">,
  needs: Needs | undefined,
): readonly KubeObject[] => needs ? withBoundRights(objects, rightsFor(needs)) : objects;

/** Describes the rights in one line. */
export function rightsLine(needs: Needs): string {
  const { groups, related } = rightsFor(needs);
  const what = [...(groups.length > 0 ? [`group ${groups.join(", ")}`] : []), ...related];
  return `Konnector rights: bound APIs only (${what.join("; ") || "nothing is bound yet"})`;
}

async function isInstalledNarrow(kube: KubeClient, signal: AbortSignal): Promise<boolean> {
  try {
    const role = await kube.find(CLUSTER_ROLES, { name: "konnector" }, signal);
    return role !== undefined && isBoundOnly(role);
  } catch (error) {
    if (isForbidden(error)) return false;
    throw error;
  }
}

const noneIfNotFound = (error: unknown): [] => {
  if (isNotFound(error)) return []; // the konnector is not installed
  throw error;
};

import {
  BINDINGS,
  CLUSTER_BINDINGS,
  type ClusterBinding,
  type KubeObject,
} from "../../common/api/resources.ts";
import { ANNOTATIONS, LABELS } from "../../common/api/names.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isForbidden, isNotFound } from "../../common/kube/kube_error.ts";
import { type ApiObjects, boundObjects, countAll, countsText } from "./bound_objects.ts";
import type { BoundObject } from "./find_bound.ts";

/** What an unbind takes away on the consumer cluster. */
export interface Going {
  readonly binding: ClusterBinding;
  /** The objects that go with their CRDs. */
  readonly lists: readonly ApiObjects[];
  /** Whether the copies on the provider stay. */
  readonly keepsCopies: boolean;
}

/** Finds the objects that go with a bundle; undefined if it has no ClusterBinding. */
export async function whatGoes(
  kube: KubeClient,
  bound: readonly BoundObject[],
  signal: AbortSignal,
): Promise<Going | undefined> {
  const found = bound.find(({ type }) => type.plural === CLUSTER_BINDINGS.plural);
  if (!found) return undefined;
  const { name } = found.object.metadata;
  const binding = await kube.find(CLUSTER_BINDINGS, { name }, signal);
  if (!binding) return undefined;
  const { [ANNOTATIONS.keepCrd]: keepCrd, [ANNOTATIONS.deletionPolicy]: policy } =
    binding.metadata.annotations ?? {};
  const keepsCopies = policy === "Orphan";
  if (keepCrd === "true") return { binding, lists: [], keepsCopies };
  const kept = await apisOfOthers(kube, binding, signal);
  const apis = binding.spec.apis.map((api) => api.name).filter((api) => !kept.has(api));
  const lists = (await boundObjects(kube, apis, signal)).filter(({ crd, objects }) =>
    isPulledBy(crd, binding) && objects?.length !== 0
  );
  return { binding, lists, keepsCopies };
}

/** Says how much an unbind deletes, and how to keep it. */
export function goingLines({ binding, lists, keepsCopies }: Going): string[] {
  const annotate = `kubectl annotate clusterbinding ${binding.metadata.name}`;
  const copies = keepsCopies
    ? "their copies on the provider stay"
    : "their copies on the provider too";
  return [
    `Unbinding deletes ${countsText(lists)} on this cluster; ${copies}`,
    `To keep the objects: ${annotate} ${ANNOTATIONS.keepCrd}=true`,
    ...(keepsCopies
      ? []
      : [`To keep the copies: ${annotate} ${ANNOTATIONS.deletionPolicy}=Orphan`]),
  ];
}

/** Counts the objects that go. */
export const countGoing = (going: Going | undefined): number => going ? countAll(going.lists) : 0;

/** The konnector deletes only CRDs that it installed for this Connection. */
const isPulledBy = ({ metadata }: KubeObject, { spec }: ClusterBinding): boolean =>
  metadata.labels?.[LABELS.managed] === "true" &&
  metadata.annotations?.[ANNOTATIONS.connection] === spec.connectionRef.name;

async function apisOfOthers(
  kube: KubeClient,
  { metadata: { uid } }: ClusterBinding,
  signal: AbortSignal,
): Promise<Set<string>> {
  const bindings = [
    ...await kube.list(CLUSTER_BINDINGS, {}, signal),
    ...await kube.list(BINDINGS, {}, signal).catch((error) => {
      if (isNotFound(error) || isForbidden(error)) return [];
      throw error;
    }),
  ];
  const others = bindings.filter(({ metadata }) => metadata.uid !== uid);
  return new Set(others.flatMap(({ spec }) => spec.apis.map(({ name }) => name)));
}

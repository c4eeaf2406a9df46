import {
  BINDINGS,
  CLUSTER_BINDINGS,
  type ClusterBinding,
  type KubeObject,
  type RelatedResource,
  relatedType,
} from "../../common/api/resources.ts";
import { ANNOTATIONS, LABELS, SYNCER_FINALIZER } from "../../common/api/names.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isForbidden, isNotFound } from "../../common/kube/kube_error.ts";
import {
  type ApiObjects,
  boundObjects,
  countAll,
  type Counted,
  countsText,
  listed,
} from "./bound_objects.ts";
import type { BoundObject } from "./find_bound.ts";

/** What an unbind takes away. */
export interface Going {
  readonly binding: ClusterBinding;
  /** The objects that go with their CRDs. */
  readonly lists: readonly Counted[];
  /** The objects that stay on this cluster while their copies on the provider go. */
  readonly staying: readonly Counted[];
  /** The related copies that go on this cluster. */
  readonly related: readonly Counted[];
  /** The resources whose related copies go on the provider. */
  readonly relatedThere: readonly string[];
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
  const kept = await apisOfOthers(kube, binding, signal);
  const apis = binding.spec.apis.map((api) => api.name).filter((api) => !kept.has(api));
  const all = await boundObjects(kube, apis, signal);
  const goes = ({ crd }: ApiObjects) => keepCrd !== "true" && isPulledBy(crd, binding);
  return {
    binding,
    lists: all.filter(goes).filter(hasSome),
    staying: keepsCopies ? [] : all.filter((list) => !goes(list)).map(withCopies).filter(hasSome),
    related: (await relatedCopies(kube, binding, signal)).filter(hasSome),
    relatedThere: keepsCopies ? [] : resourcesOf(binding, "FromConsumer"),
    keepsCopies,
  };
}

const hasSome = ({ objects }: Counted): boolean => objects?.length !== 0;

/** An object with our finalizer has a copy. */
const withCopies = ({ api, objects }: ApiObjects): Counted => ({
  api,
  objects: objects?.filter(({ metadata }) => metadata.finalizers?.includes(SYNCER_FINALIZER)),
});

const resourcesOf = (
  { spec: { relatedResources = [] } }: ClusterBinding,
  direction: RelatedResource["direction"],
): RelatedResource["resource"][] => [
  ...new Set(
    relatedResources.filter((rule) => rule.direction === direction).map(({ resource }) => resource),
  ),
];

/** Lists the related copies of a binding on this cluster. */
const relatedCopies = (
  kube: KubeClient,
  binding: ClusterBinding,
  signal: AbortSignal,
): Promise<Counted[]> =>
  Promise.all(
    resourcesOf(binding, "FromProvider").map(async (resource) => {
      const selection = { labelSelector: `${LABELS.managed}=true` };
      const copies = await listed(kube, relatedType(resource), signal, selection);
      const objects = copies?.filter(({ metadata: { annotations } }) =>
        annotations?.[ANNOTATIONS.relatedBinding] === binding.metadata.uid
      );
      return { api: `related ${resource}`, objects };
    }),
  );

/** Says how much an unbind deletes, and how to keep it. */
export function goingLines(going: Going): string[] {
  const { binding, lists, staying, related, relatedThere, keepsCopies } = going;
  const annotate = `kubectl annotate clusterbinding ${binding.metadata.name}`;
  const copies = keepsCopies
    ? "their copies on the provider stay"
    : "their copies on the provider too";
  const hasCopies = !keepsCopies && lists.length + staying.length + relatedThere.length > 0;
  return [
    ...(lists.length > 0
      ? [
        `Unbinding deletes ${countsText(lists)} on this cluster; ${copies}`,
        `To keep the objects: ${annotate} ${ANNOTATIONS.keepCrd}=true`,
      ]
      : []),
    ...(staying.length > 0
      ? [`Unbinding deletes the copies of ${countsText(staying)} on the provider; the objects stay`]
      : []),
    ...(related.length > 0
      ? [`Unbinding deletes ${countsText(related)} on this cluster; the provider keeps its own`]
      : []),
    ...(relatedThere.length > 0
      ? [`Unbinding deletes the copies of related ${relatedThere.join(" and ")} on the provider`]
      : []),
    ...(hasCopies ? [`To keep the copies: ${annotate} ${ANNOTATIONS.deletionPolicy}=Orphan`] : []),
  ];
}

/** Counts in words what goes, as in `3 objects and 2 copies on the provider`; empty if nothing. */
export function lossText({ lists, staying, related }: Going): string {
  const [objects, copies] = [countAll([...lists, ...related]), countAll(staying)];
  return [
    ...(objects > 0 ? [objects === 1 ? "1 object" : `${objects} objects`] : []),
    ...(copies > 0 ? [`${copies === 1 ? "1 copy" : `${copies} copies`} on the provider`] : []),
  ].join(" and ");
}

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

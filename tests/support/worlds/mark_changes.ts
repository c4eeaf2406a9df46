import { ANNOTATIONS, FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import type { KubeClient, PatchStep } from "../../../common/kube/client.ts";
import type { Bound } from "./konnector_world.ts";
import type { Instance } from "./two_sides.ts";

/** A change of our marks on a copy by somebody else. */
export interface MarkChange {
  /** Whether the copy stays ours and gets the mark back. Otherwise it becomes a foreign object. */
  readonly isRepaired: boolean;
  /** Makes the steps; a replaced mark is another one each time. */
  readonly steps: () => readonly PatchStep[];
}

const pathOf = (field: "labels" | "annotations", key: string): string =>
  `/metadata/${field}/${key.replace("/", "~1")}`;

const remove = (field: "labels" | "annotations", key: string): PatchStep => ({
  op: "remove",
  path: pathOf(field, key),
});

const replace = (key: string): PatchStep => ({
  op: "add",
  path: pathOf("annotations", key),
  value: crypto.randomUUID(),
});

/** The changes of marks that may happen. */
export const MARK_CHANGES: readonly MarkChange[] = [
  { isRepaired: true, steps: () => [remove("labels", LABELS.managed)] },
  { isRepaired: true, steps: () => [{ op: "remove", path: "/metadata/labels" }] },
  { isRepaired: false, steps: () => [remove("annotations", ANNOTATIONS.consumerObjectUid)] },
  { isRepaired: false, steps: () => [replace(ANNOTATIONS.consumerObjectUid)] },
  { isRepaired: false, steps: () => [replace(ANNOTATIONS.consumerClusterUid)] },
  { isRepaired: false, steps: () => [{ op: "remove", path: "/metadata/annotations" }] },
];

/** Returns whether a copy has the labels by which its konnector watches it. */
export const isLabelled = ({ metadata: { labels, annotations } }: Instance): boolean =>
  labels?.[LABELS.managed] === "true" &&
  labels[LABELS.consumerClusterUid] === annotations?.[ANNOTATIONS.consumerClusterUid];

/** Changes exactly this version of an object, as a client that is no konnector. */
export async function changeExactly(
  kube: KubeClient,
  type: Bound["type"],
  { metadata: { namespace, name, resourceVersion } }: Instance,
  steps: readonly PatchStep[],
): Promise<Instance> {
  const guard = { op: "test", path: "/metadata/resourceVersion", value: resourceVersion } as const;
  const options = { manager: FIELD_MANAGERS.installer };
  return await kube.jsonPatch(type, { namespace, name }, [guard, ...steps], options);
}

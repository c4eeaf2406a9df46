import { ANNOTATIONS, LABELS } from "../../common/api/names.ts";
import type { ResourceType } from "../../common/api/resources.ts";
import type { ObjectKey } from "../../common/kube/paths.ts";
import type { Carried } from "./carried.ts";

/** The marks of a copy. */
export interface Marks {
  readonly clusterUid: string;
  readonly objectUid: string;
  readonly connection: string;
  readonly hash: string;
  readonly generation: number;
}

/**
 * What the provider must have for an apply to be carried out: no object of that name, or the one
 * with this UID. Otherwise the answer is an error, and nothing changes. A dry run needs no guard.
 */
export type Guard = "absent" | { readonly uid: string } | "none";

/** No object ever has this version, so an apply with it can only create. */
export const CREATE_ONLY = "1";

/** Returns the marks of everything that a konnector makes on the provider. */
export const clusterMarks = (clusterUid: string) => ({
  labels: { [LABELS.managed]: "true", [LABELS.consumerClusterUid]: clusterUid },
  annotations: { [ANNOTATIONS.consumerClusterUid]: clusterUid },
});

/** Returns the metadata that makes an apply keep to its guard. */
export function guardFields(guard: Guard) {
  if (guard === "none") return {};
  return guard === "absent" ? { resourceVersion: CREATE_ONLY } : { uid: guard.uid };
}

/** What an apply brings to a copy, as JSON texts. */
export interface AppliedTexts {
  readonly content: string;
  /** Labels and annotations. */
  readonly carried?: string | undefined;
}

/** Builds the JSON text of an apply: identity, guard and marks, then the content as it is. */
export function appliedObject(
  type: ResourceType,
  { name, namespace }: ObjectKey,
  guard: Guard,
  marks: Marks,
  { content, carried = "{}" }: AppliedTexts,
): string {
  const { labels, annotations } = clusterMarks(marks.clusterUid);
  const carries = JSON.parse(carried) as Carried;
  const head = JSON.stringify({
    apiVersion: type.group === "" ? type.version : `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: {
      name,
      ...(namespace ? { namespace } : {}),
      ...guardFields(guard),
      // Our marks come last, so that nothing can replace them.
      labels: { ...carries.labels, ...labels },
      annotations: {
        ...carries.annotations,
        ...annotations,
        [ANNOTATIONS.consumerObjectUid]: marks.objectUid,
        [ANNOTATIONS.connection]: marks.connection,
        [ANNOTATIONS.syncedHash]: marks.hash,
        [ANNOTATIONS.consumerGeneration]: String(marks.generation),
      },
    },
  });
  return content === "{}" ? head : `${head.slice(0, -1)},${content.slice(1)}`;
}

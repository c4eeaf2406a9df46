import { ANNOTATIONS } from "../common/api/names.ts";
import { isDeleting, type KubeObject } from "../common/api/resources.ts";
import { wrongValue } from "./annotation_values.ts";

type Annotated = Pick<KubeObject, "kind" | "metadata">;

/** Why nothing is written for a binding or Connection. */
export interface Pause {
  readonly reason: "Paused" | "AnnotationInvalid";
  /** Completes a sentence that starts with the annotation. */
  readonly why: string;
  readonly annotation: string;
}

/** The annotations that each kind may have. */
const READ: Readonly<Record<string, readonly string[]>> = {
  Connection: [ANNOTATIONS.paused],
  Binding: [ANNOTATIONS.paused, ANNOTATIONS.deletionPolicy],
  ClusterBinding: [ANNOTATIONS.paused, ANNOTATIONS.deletionPolicy, ANNOTATIONS.keepCrd],
};

/** Returns the first invalid annotation; undefined if all are valid. */
export function wrongAnnotation({ kind, metadata: { annotations } }: Annotated): Pause | undefined {
  for (const annotation of READ[kind] ?? []) {
    const problem = wrongValue(annotations, annotation);
    if (problem === undefined) continue;
    return { reason: "AnnotationInvalid", why: `is wrong: ${problem}`, annotation };
  }
}

/**
 * Returns why nothing may be written for a binding or Connection; undefined if everything may. An
 * invalid annotation about its deletion holds only the deletion.
 */
export function pauseOf(object: Annotated): Pause | undefined {
  const wrong = wrongAnnotation(object);
  const isHeld = wrong && (wrong.annotation === ANNOTATIONS.paused || isDeleting(object));
  if (isHeld) return wrong;
  const annotation = ANNOTATIONS.paused;
  if (object.metadata.annotations?.[annotation] !== "true") return undefined;
  return { reason: "Paused", why: "pauses it", annotation };
}

/** Returns whether nothing may be written for a binding or Connection. */
export const isPaused = (object: Annotated): boolean => pauseOf(object) !== undefined;

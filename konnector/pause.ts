import { ANNOTATIONS } from "../common/api/names.ts";
import type { KubeObject } from "../common/api/resources.ts";

/** Tells whether the annotation of a binding or Connection pauses it. */
export const isPaused = ({ metadata }: Pick<KubeObject, "metadata">): boolean =>
  metadata.annotations?.[ANNOTATIONS.paused] === "true";

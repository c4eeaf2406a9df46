import { type KubeObject, type ResourceType } from "../../../common/api/resources.ts";
import { SAMPLES } from "./samples.ts";

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the target after a JSON merge patch (RFC 7386), without changing either argument. */
export const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch;
  const result = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
};

/** Returns the complete sample of a kind under a name, after a merge patch. */
export const patchedSample = (
  type: ResourceType,
  name: string,
  patch: unknown = {},
): KubeObject => {
  const object = {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: { name, ...(type.namespaced ? { namespace: "default" } : {}) },
    ...SAMPLES[type.kind]?.complete,
  };
  return mergePatch(object, patch) as KubeObject;
};

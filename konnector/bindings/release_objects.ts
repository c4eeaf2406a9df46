import { FIELD_MANAGERS, SYNCER_FINALIZER } from "../../common/api/names.ts";
import {
  CRDS,
  hasFinalizer,
  type KubeObject,
  type ResourceType,
} from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import { keyOf, keyText } from "../../common/kube/paths.ts";

/** Which objects are released. */
export interface Release {
  readonly api: string;
  /** The only namespace to release objects in; undefined for all. */
  readonly namespace: string | undefined;
  /** Returns whether the objects of a namespace stay as they are. */
  readonly isKept: (namespace: string) => boolean;
}

interface HeldObject {
  readonly type: ResourceType;
  readonly object: KubeObject;
}

/** Counts and releases objects without their provider. */
export const releaseObjects = {
  /** Counts the objects that hold our finalizer. */
  async count(consumer: KubeClient, release: Release, signal: AbortSignal): Promise<number> {
    return (await heldObjects(consumer, release, signal)).length;
  },

  /** Takes our finalizer off every object. Returns their names. */
  async all(consumer: KubeClient, release: Release, signal: AbortSignal): Promise<string[]> {
    const held = await heldObjects(consumer, release, signal);
    for (const { type, object } of held) await releaseObject(consumer, type, object, signal);
    return held.map(({ object }) => keyText(object.metadata));
  },
};

/** Takes our finalizer off an object, which may be gone. */
export async function releaseObject(
  consumer: KubeClient,
  type: ResourceType,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const { resourceVersion = "", finalizers = [] } = object.metadata;
  const left = finalizers.filter((each) => each !== SYNCER_FINALIZER);
  const patch = { metadata: { resourceVersion, finalizers: left } };
  try {
    await consumer.mergePatch(type, keyOf(object), patch, FIELD_MANAGERS.konnector, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Returns the type of an API whose CRD is installed on the consumer; undefined if it is gone. */
export async function installedType(
  consumer: KubeClient,
  api: string,
  signal: AbortSignal,
): Promise<ResourceType | undefined> {
  const crd = await consumer.find(CRDS, { name: api }, signal);
  if (!crd) return undefined;
  const { group, names: { plural, kind }, scope, versions } = crd.spec;
  const version = versions.find(({ served }) => served)?.name ?? "";
  return { group, version, plural, kind, namespaced: scope === "Namespaced" };
}

/** Lists the objects that hold our finalizer. They are gone with their CRD. */
async function heldObjects(
  consumer: KubeClient,
  { api, namespace, isKept }: Release,
  signal: AbortSignal,
): Promise<readonly HeldObject[]> {
  const type = await installedType(consumer, api, signal);
  if (!type) return [];
  const selection = type.namespaced && namespace !== undefined ? { namespace } : {};
  const objects = await consumer.list(type, selection, signal).catch((error) => {
    if (isNotFound(error)) return [];
    throw error;
  });
  const isHeld = (object: KubeObject) =>
    hasFinalizer(object, SYNCER_FINALIZER) && !isKept(object.metadata.namespace ?? "");
  return objects.filter(isHeld).map((object) => ({ type, object }));
}

import { CORE_CLEANUP_FINALIZER, FIELD_MANAGERS } from "../common/api/names.ts";
import {
  hasFinalizer,
  isDeleting,
  type KubeObject,
  type ResourceType,
} from "../common/api/resources.ts";
import type { Cache } from "../common/kube/cache.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { isNotFound } from "../common/kube/kube_error.ts";
import { keyOf } from "../common/kube/paths.ts";

const MANAGER = FIELD_MANAGERS.konnector;

/** Puts our clean-up finalizer on an object that has whole metadata. Returns it as stored. */
export async function addCleanup<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  object: T,
  signal: AbortSignal,
): Promise<T> {
  // The API server refuses a new finalizer on an object that is being deleted.
  if (hasFinalizer(object, CORE_CLEANUP_FINALIZER) || isDeleting(object)) return object;
  const finalizers = [...object.metadata.finalizers ?? [], CORE_CLEANUP_FINALIZER];
  return await patchFinalizers(kube, type, object, finalizers, signal);
}

/** Takes our clean-up finalizer off an object that has whole metadata, and tells its cache. */
export async function removeCleanup<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  object: T,
  signal: AbortSignal,
  cache?: Cache<T>,
): Promise<void> {
  if (!hasFinalizer(object, CORE_CLEANUP_FINALIZER)) return;
  const left = object.metadata.finalizers?.filter((each) => each !== CORE_CLEANUP_FINALIZER) ?? [];
  try {
    const stored = await patchFinalizers(kube, type, object, left, signal);
    cache?.learn(stored, MANAGER);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function patchFinalizers<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  object: T,
  finalizers: readonly string[],
  signal: AbortSignal,
): Promise<T> {
  const { resourceVersion = "" } = object.metadata;
  const patch = { metadata: { resourceVersion, finalizers } };
  return await kube.mergePatch(type, keyOf(object), patch, MANAGER, signal);
}

/** Stores an answer in a cache of whole objects, and returns the object as cached. */
export function learned<T extends KubeObject>(cache: Cache<T, string>, answer: T): T {
  cache.learn(answer, MANAGER);
  return cache.get(answer.metadata) ?? answer;
}

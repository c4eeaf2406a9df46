import { FIELD_MANAGERS, SYNCER_FINALIZER } from "../../common/api/names.ts";
import {
  CRDS,
  hasFinalizer,
  type KubeObject,
  type ResourceType,
} from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { keyOf } from "../../common/kube/paths.ts";

/** Counts and releases objects of an API that is not synced at present. */
export const releaseObjects = {
  /** Counts the objects that hold our finalizer. */
  async count(
    consumer: KubeClient,
    api: string,
    namespace: string | undefined,
    signal: AbortSignal,
  ): Promise<number> {
    return (await heldObjects(consumer, api, namespace, signal)).objects.length;
  },

  /** Takes our finalizer off every object. */
  async all(
    consumer: KubeClient,
    api: string,
    namespace: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { type, objects } = await heldObjects(consumer, api, namespace, signal);
    for (const object of objects) await releaseObject(consumer, type, object, signal);
  },
};

/** Takes our finalizer off an object. */
export async function releaseObject(
  consumer: KubeClient,
  type: ResourceType,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const { resourceVersion = "", finalizers = [] } = object.metadata;
  const left = finalizers.filter((each) => each !== SYNCER_FINALIZER);
  const patch = { metadata: { resourceVersion, finalizers: left } };
  await consumer.mergePatch(type, keyOf(object), patch, FIELD_MANAGERS.konnector, signal);
}

/** Reads how an API is called whose CRD is installed on the consumer. */
export async function installedType(
  consumer: KubeClient,
  api: string,
  signal: AbortSignal,
): Promise<ResourceType> {
  const { spec: { group, names, scope, versions } } = await consumer.get(
    CRDS,
    { name: api },
    signal,
  );
  const version = versions.find(({ served }) => served)?.name ?? "";
  const { plural, kind } = names;
  return { group, version, plural, kind, namespaced: scope === "Namespaced" };
}

async function heldObjects(
  consumer: KubeClient,
  api: string,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly type: ResourceType; readonly objects: readonly KubeObject[] }> {
  const type = await installedType(consumer, api, signal);
  const selection = type.namespaced && namespace !== undefined ? { namespace } : {};
  const objects = await consumer.list(type, selection, signal);
  return { type, objects: objects.filter((each) => hasFinalizer(each, SYNCER_FINALIZER)) };
}

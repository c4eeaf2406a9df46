import type { ObjectMeta } from "../api/resources.ts";

/** Requests metadata only, without specs, statuses or Secret values. */
export const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
/** The same for single objects, and for those in a watch. */
export const METADATA_OBJECT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** The metadata of an object. */
export interface MetadataObject {
  readonly metadata: ObjectMeta;
}

/** The labels and annotations to keep besides our own. */
export interface KeepMetadata {
  readonly labels?: readonly string[];
  readonly annotations?: readonly string[];
}

/** Returns whether a label, an annotation or a finalizer is one of ours. */
export const isOurs = (key: string): boolean => /^([^/]+\.)?xbind\.io\//.test(key);

/**
 * Reduces raw metadata to the fields that we use. Drops field ownership for its size, and foreign
 * annotations because `last-applied-configuration` may hold a whole Secret.
 */
export function reduceMetadata(raw: unknown, keep: KeepMetadata = {}): MetadataObject {
  const from = (raw as { metadata: ObjectMeta }).metadata;
  const metadata: ObjectMeta = { name: from.name };
  if (from.namespace) metadata.namespace = from.namespace;
  if (from.uid) metadata.uid = from.uid;
  if (from.resourceVersion) metadata.resourceVersion = from.resourceVersion;
  if (from.generation) metadata.generation = from.generation;
  if (from.creationTimestamp) metadata.creationTimestamp = from.creationTimestamp;
  if (from.deletionTimestamp) metadata.deletionTimestamp = from.deletionTimestamp;
  const labels = pick(from.labels, keep.labels);
  if (labels) metadata.labels = labels;
  const annotations = pick(from.annotations, keep.annotations);
  if (annotations) metadata.annotations = annotations;
  const finalizers = from.finalizers?.filter(isOurs);
  if (finalizers?.length) metadata.finalizers = finalizers;
  return { metadata };
}

function pick(
  values: Record<string, string> | undefined,
  keep: readonly string[] = [],
): Record<string, string> | undefined {
  let picked: Record<string, string> | undefined;
  for (const key in values) {
    if (!isOurs(key) && !keep.includes(key)) continue;
    picked ??= {};
    picked[key] = values[key] as string;
  }
  return picked;
}

/** Removes the bookkeeping that we never read from a whole object. */
export function withoutBookkeeping<T extends MetadataObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as ObjectMeta & {
    managedFields?: unknown;
  };
  if (metadata.annotations?.[LAST_APPLIED] !== undefined) {
    const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations;
    metadata.annotations = annotations;
  }
  return { ...object, metadata };
}

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

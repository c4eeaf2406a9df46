import { ANNOTATIONS, FIELD_MANAGERS, SYNCER_FINALIZER } from "../../common/api/names.ts";
import { isDeleting } from "../../common/api/resources.ts";
import type { PatchStep } from "../../common/kube/client.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { parseLossless } from "../../common/kube/lossless_json.ts";
import { type ConsumerRecord, consumerRecord } from "./records.ts";
import type { SyncContext } from "./sync_context.ts";
import { syncedFields } from "./synced_fields.ts";

const MANAGER = FIELD_MANAGERS.konnector;

/** Puts our finalizer on an object, so that its copy is deleted before it. */
export async function addFinalizer(
  sync: SyncContext,
  { metadata }: ConsumerRecord,
  signal: AbortSignal,
): Promise<void> {
  const { finalizers } = metadata;
  await patch(sync, metadata, signal, [
    ...(finalizers ? [test("/metadata/finalizers", finalizers)] : []),
    finalizers
      ? { op: "add", path: "/metadata/finalizers/-", value: SYNCER_FINALIZER }
      : { op: "add", path: "/metadata/finalizers", value: [SYNCER_FINALIZER] },
  ]);
}

/** Takes our finalizer off an object. */
export async function removeFinalizer(
  sync: SyncContext,
  { metadata }: ConsumerRecord,
  signal: AbortSignal,
): Promise<void> {
  const { finalizers = [] } = metadata;
  const index = finalizers.indexOf(SYNCER_FINALIZER);
  await patch(sync, metadata, signal, [
    test("/metadata/finalizers", finalizers),
    { op: "remove", path: `/metadata/finalizers/${index}` },
  ]);
}

/** Shows on an object that another one has its name on the provider. */
export const markConflict = (
  sync: SyncContext,
  object: ConsumerRecord,
  conflict: string,
  signal: AbortSignal,
): Promise<void> => annotate(sync, object, ANNOTATIONS.conflict, conflict, signal);

/** Takes the mark of a conflict off an object. */
export const clearMark = (
  sync: SyncContext,
  object: ConsumerRecord,
  signal: AbortSignal,
): Promise<void> => takeOff(sync, object, ANNOTATIONS.conflict, signal);

/** Shows on an object why its content is not applied. */
export const markError = (
  sync: SyncContext,
  object: ConsumerRecord,
  fault: string,
  signal: AbortSignal,
): Promise<void> => annotate(sync, object, ANNOTATIONS.syncError, fault, signal);

/** Takes that off an object. */
export const clearError = (
  sync: SyncContext,
  object: ConsumerRecord,
  signal: AbortSignal,
): Promise<void> => takeOff(sync, object, ANNOTATIONS.syncError, signal);

async function annotate(
  { consumer, type, objects }: SyncContext,
  { metadata: { namespace, name, uid, resourceVersion = "" } }: ConsumerRecord,
  annotation: string,
  value: string,
  signal: AbortSignal,
): Promise<void> {
  const change = { metadata: { uid, resourceVersion, annotations: { [annotation]: value } } };
  const answer = await consumer.mergePatch(type, { namespace, name }, change, MANAGER, signal);
  objects.learn(answer, MANAGER);
}

async function takeOff(
  sync: SyncContext,
  { metadata }: ConsumerRecord,
  annotation: string,
  signal: AbortSignal,
): Promise<void> {
  const path = `/metadata/annotations/${annotation.replace("/", "~1")}`;
  await patch(sync, metadata, signal, [{ op: "remove", path }]);
}

/** Writes the provider's status to an object. The test of the UID keeps it off a later object. */
export async function writeStatus(
  sync: SyncContext,
  record: ConsumerRecord,
  status: string,
  signal: AbortSignal,
): Promise<void> {
  await patch(
    sync,
    record.metadata,
    signal,
    [{ op: "add", path: "/status", value: parseLossless(status) }],
    sync.type.hasStatusSubresource ? "status" : undefined,
  );
}

/**
 * Returns the content of an object, and reads it again if it is no longer held. Returns undefined
 * if the object is being deleted: another konnector may have deleted its copy for that reason.
 */
export async function contentOf(
  { consumer, type, carry }: SyncContext,
  record: ConsumerRecord,
  signal: AbortSignal,
): Promise<ConsumerRecord & { readonly content: string } | undefined> {
  const held = withContent(record);
  if (held) return held;
  const found = await consumer.find(type, keyOf(record), signal);
  if (!found || found.metadata.uid !== record.metadata.uid || isDeleting(found)) return undefined;
  return withContent(consumerRecord(found, syncedFields(found, carry)));
}

/** Copies the record, because its content is dropped when a newer one replaces it. */
const withContent = ({ content, ...record }: ConsumerRecord) =>
  content === undefined ? undefined : { ...record, content };

const test = (path: string, value: unknown): PatchStep => ({ op: "test", path, value });

async function patch(
  { consumer, type, objects }: SyncContext,
  { namespace, name, uid }: ConsumerRecord["metadata"],
  signal: AbortSignal,
  steps: readonly PatchStep[],
  part?: "status",
): Promise<void> {
  const guarded = [test("/metadata/uid", uid), ...steps];
  const options = { manager: MANAGER, part, signal };
  objects.learn(await consumer.jsonPatch(type, { namespace, name }, guarded, options), MANAGER);
}

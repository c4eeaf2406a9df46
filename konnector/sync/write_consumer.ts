import { ANNOTATIONS, FIELD_MANAGERS, SYNCER_FINALIZER } from "../../common/api/names.ts";
import { isDeleting } from "../../common/api/resources.ts";
import type { PatchStep } from "../../common/kube/client.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { parseLossless } from "../../common/kube/lossless_json.ts";
import { type ConsumerRecord, consumerRecord } from "./records.ts";
import type { SyncContext } from "./sync_context.ts";

const MANAGER = FIELD_MANAGERS.konnector;
const CONFLICT_PATH = `/metadata/annotations/${ANNOTATIONS.conflict.replace("/", "~1")}`;

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

/** Shows on an object why it is not synced. */
export async function markConflict(
  sync: SyncContext,
  { metadata }: ConsumerRecord,
  conflict: string,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const annotations = { [ANNOTATIONS.conflict]: conflict };
  const change = { metadata: { uid, resourceVersion: resourceVersion ?? "", annotations } };
  const answer = await sync.consumer
    .mergePatch(sync.type, { namespace, name }, change, MANAGER, signal);
  sync.objects.learn(answer, MANAGER);
}

/** Takes the mark of a conflict off an object. */
export async function clearMark(
  sync: SyncContext,
  { metadata }: ConsumerRecord,
  signal: AbortSignal,
): Promise<void> {
  await patch(sync, metadata, signal, [{ op: "remove", path: CONFLICT_PATH }]);
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
 * Returns the content of an object, and reads it again if it is no longer held. Returns undefined if
 * the object goes: another konnector may have deleted its copy for that reason.
 */
export async function contentOf(
  { consumer, type }: SyncContext,
  record: ConsumerRecord,
  signal: AbortSignal,
): Promise<ConsumerRecord & { readonly content: string } | undefined> {
  const held = withContent(record);
  if (held) return held;
  const found = await consumer.find(type, keyOf(record), signal);
  if (!found || found.metadata.uid !== record.metadata.uid || isDeleting(found)) return undefined;
  return withContent(consumerRecord(found));
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

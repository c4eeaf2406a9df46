import { FIELD_MANAGERS } from "../../common/api/names.ts";
import { NAMESPACES } from "../../common/api/resources.ts";
import {
  isAlreadyExists,
  isForbidden,
  isNotFound,
  KubeError,
} from "../../common/kube/kube_error.ts";
import { keyOf, type ObjectKey } from "../../common/kube/paths.ts";
import { appliedObject, clusterMarks, type Guard } from "./applied_object.ts";
import { contains } from "./drift.ts";
import { type ConsumerRecord, type ProviderRecord, providerRecord } from "./records.ts";
import type { SyncContext } from "./sync_context.ts";
import { expectedFields, syncedFields } from "./synced_fields.ts";

const MANAGER = FIELD_MANAGERS.konnector;

/** An object of the consumer whose content is at hand. */
export type WholeObject = ConsumerRecord & { readonly content: string };

/** Applies the content of an object to its copy, under a guard. Returns the copy as stored. */
export async function applyCopy(
  sync: SyncContext,
  object: WholeObject,
  guard: Guard,
  signal: AbortSignal,
): Promise<ProviderRecord> {
  const { namespace, name } = object.metadata;
  const { type, provider, copies } = sync;
  const text = copyText(sync, object, guard);
  const answer = wellFormed(
    await provider.applyText(type, { namespace, name }, text, MANAGER, signal),
  );
  copies.learn(answer, MANAGER);
  const known = copies.get({ namespace, name });
  const isAnswer = known?.metadata.resourceVersion === answer.metadata.resourceVersion;
  const applied = isAnswer && known ? known : readCopy(sync, answer);
  const stored = known ?? applied;
  // What the provider stored of our fields is what we accept: webhooks may have changed them.
  // A later version, which the watch reported first, may already be the work of another writer.
  stored.accepted = applied.owned;
  stored.isSuspect = false;
  return stored;
}

/** Creates the copy as a dry run; throws the provider's refusal. */
export async function tryToRecreate(
  sync: SyncContext,
  object: WholeObject,
  signal: AbortSignal,
): Promise<void> {
  const { type, provider } = sync;
  const text = copyText(sync, object, "none");
  try {
    await provider.dryRunCreateText(type, keyOf(object), text, MANAGER, signal);
  } catch (error) {
    // The name is checked last, so all else was accepted.
    if (!isAlreadyExists(error)) throw error;
  }
}

function copyText(
  { type, connection, clusterUid }: SyncContext,
  { metadata, hash, content, carried }: WholeObject,
  guard: Guard,
): string {
  const { namespace, name, uid = "", generation = 0 } = metadata;
  const marks = { clusterUid, objectUid: uid, connection, hash, generation };
  return appliedObject(type, { namespace, name }, guard, marks, { content, carried });
}

/** Reads the object of that name on the provider, whoever owns it. */
export async function lookAtCopy(
  sync: SyncContext,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<ProviderRecord | undefined> {
  const found = await sync.provider.find(sync.type, key, signal);
  return found && readCopy(sync, found);
}

/** Returns whether a copy has the content of its object. Undefined if one of them was replaced. */
export async function hasContent(
  { consumer, provider, type, carry }: SyncContext,
  object: ConsumerRecord,
  copy: ProviderRecord,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const [wanted, stored] = await Promise.all([
    consumer.find(type, keyOf(object), signal),
    provider.find(type, keyOf(copy), signal),
  ]);
  const isBoth = wanted?.metadata.uid === object.metadata.uid &&
    stored?.metadata.uid === copy.metadata.uid;
  if (!wanted || !isBoth) return undefined;
  return contains(stored, expectedFields(syncedFields(wanted, carry)));
}

/** Deletes exactly this copy. Returns false if it was gone already. */
export async function deleteCopy(
  { provider, type }: SyncContext,
  { metadata: { namespace, name, uid } }: ProviderRecord,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await provider.delete(type, { namespace, name }, uid ? { uid } : {}, signal);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Creates the namespace on the provider unless it is known to exist, once for all its objects. */
export async function ensureNamespace(
  sync: SyncContext,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  await sync.namespaces.ensure(name, () => createNamespace(sync, name, signal));
}

/** Creates a namespace with our marks, unless it exists. */
export async function createNamespace(
  { provider, clusterUid }: Pick<SyncContext, "provider" | "clusterUid">,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const metadata = { name, ...clusterMarks(clusterUid) };
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata };
  try {
    await provider.create(NAMESPACES, namespace, MANAGER, signal);
  } catch (error) {
    // Without the right to create it, the apply shows whether it exists.
    if (!isAlreadyExists(error) && !isForbidden(error)) throw error;
  }
}

const readCopy = ({ type }: SyncContext, raw: unknown): ProviderRecord =>
  providerRecord(wellFormed(raw), {
    manager: MANAGER,
    hasStatusSubresource: type.hasStatusSubresource,
  });

/** Throws for an answer that is no object, as for one that is lost. */
function wellFormed<T>(answer: T): T {
  const { metadata } = (answer ?? {}) as { readonly metadata?: { readonly name?: unknown } };
  if (typeof metadata?.name === "string") return answer;
  throw new KubeError("Cannot read the copy: the provider's answer is malformed", {
    status: 0,
    reason: "InvalidAnswer",
  });
}

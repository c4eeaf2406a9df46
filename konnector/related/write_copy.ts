import { FIELD_MANAGERS } from "../../common/api/names.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import type { ObjectKey } from "../../common/kube/paths.ts";
import type { Guard } from "../sync/applied_object.ts";
import { createNamespace } from "../sync/write_provider.ts";
import { appliedCopy, copyOf, type WantedCopy } from "./copy_of.ts";
import { selectedBy } from "./matching.ts";
import { isBarredType } from "./never_copied.ts";
import type { RelatedContext } from "./related_context.ts";
import { type CopyRecord, copyRecord, placeRecord, type SourceRecord } from "./related_records.ts";

const MANAGER = FIELD_MANAGERS.konnectorRelated;

/** Reads the object that a rule selects, and returns its copy, or why it is not copied. */
export async function readSource(
  { source, type, kind, ruleSet, allowed }: RelatedContext,
  at: ObjectKey,
  { metadata }: SourceRecord,
  signal: AbortSignal,
): Promise<WantedCopy | "barred" | "changed"> {
  const found = await source.find(type, at, signal);
  // The object was replaced, or its labels changed: its event is on its way.
  if (found?.metadata?.uid !== metadata.uid) return "changed";
  const { name, namespace = "" } = at;
  const place = { name, namespace, labels: found?.metadata.labels ?? {} };
  if (!found || !selectedBy(place, ruleSet.rules, allowed)) return "changed";
  if (kind.resource === "secrets" && isBarredType(found.type ?? "", allowed)) return "barred";
  return copyOf(found, kind.direction);
}

/** Applies a copy under a guard. Returns it as stored. */
export async function applyCopy(
  context: RelatedContext,
  at: ObjectKey,
  guard: Guard,
  wanted: WantedCopy,
  { binding, metadata }: SourceRecord,
  signal: AbortSignal,
): Promise<CopyRecord> {
  const { target, type, kind, copies, clusterUid, connection } = context;
  const marks = { clusterUid, connection, binding };
  const applied = appliedCopy(kind.resource, at, guard, marks, wanted) as never;
  const answer = await target.apply(type, applied, MANAGER, signal);
  copies.learn(answer, MANAGER);
  const known = copies.get(at);
  const isAnswer = known?.metadata.resourceVersion === answer.metadata.resourceVersion;
  const stored = isAnswer && known ? known : copyRecord(answer);
  // What the cluster stored is what we accept: a webhook may have changed it.
  stored.settledWith = metadata.resourceVersion;
  return stored;
}

/** Creates the namespace of a copy. */
export const makeNamespace = (
  { target, clusterUid }: RelatedContext,
  name: string,
  signal: AbortSignal,
): Promise<void> => createNamespace({ provider: target, clusterUid }, name, signal);

/** Deletes exactly this copy. Returns false if it is gone already. */
export async function deleteCopy(
  { target, type }: RelatedContext,
  at: ObjectKey,
  { metadata: { uid } }: CopyRecord,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await target.delete(type, at, uid ? { uid } : {}, signal);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Reads the metadata of what is in the place of a copy, whoever owns it. */
export async function lookAtPlace(
  { target, type }: RelatedContext,
  at: ObjectKey,
  signal: AbortSignal,
): Promise<CopyRecord | undefined> {
  const found = await target.findMetadata(type, at, signal);
  return found && placeRecord(found);
}

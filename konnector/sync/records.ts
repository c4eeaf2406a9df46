import * as crypto from "node:crypto";
import { ANNOTATIONS, LABELS, SYNCER_FINALIZER } from "../../common/api/names.ts";
import type { KubeObject, ObjectMeta } from "../../common/api/resources.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { CARRY_NOTHING } from "./carried.ts";
import { remembered } from "./remembered.ts";
import { type SyncedFields, syncedFields } from "./synced_fields.ts";
import { translateStatus } from "./translate_status.ts";
import type { Wishes } from "./wishes.ts";

/** Why an object cannot be synced: the provider has an object of its name that is not its copy. */
export type Conflict = "ForeignObjectExists" | "OwnedByAnother";

/** What the konnector remembers of an object on the consumer. */
export interface ConsumerRecord extends MetadataObject {
  /** Hash of everything that is synced of it. */
  readonly hash: string;
  /** Hash of the status; empty without one. */
  readonly statusHash: string;
  /** The conflict that its annotation shows. */
  readonly mark: string | undefined;
  /** Hash of the annotation that shows why it is not synced; undefined without one. */
  readonly shownError: string | undefined;
  readonly wishes: Wishes;
  /** The synced content as JSON text. It is kept only until it is synced. */
  content: string | undefined;
  /** The carried labels and annotations as JSON text, kept as long as the content. */
  carried: string | undefined;
  /** When this process heard of a change that is not synced yet, on the monotonic clock; or 0. */
  heardAt: number;
  /** When its status was last written. */
  statusWrittenAt?: number;
}

/** Whom a provider's object belongs to. */
export type Owner =
  /** Both marks name this consumer cluster and the object of that name on it. */
  | "ours"
  /** It is the copy of an earlier object of that name on this cluster. */
  | "previous"
  /** Nobody marked it. */
  | "unmarked"
  /** Another consumer's copy, or one with half of its marks. */
  | "another";

/** What the konnector remembers of a copy on the provider. */
export interface ProviderRecord extends MetadataObject {
  /** The marks: UID of the consumer cluster and of the object there. */
  readonly clusterUid: string | undefined;
  readonly objectUid: string | undefined;
  /** Whether it has the labels that our watch selects by. */
  readonly isWatched: boolean;
  /** Hash and generation of the consumer's content that was applied last. */
  readonly syncedHash: string | undefined;
  readonly consumerGeneration: number;
  /** Hash of the status as the consumer should have it; empty without one. */
  readonly statusHash: string;
  /** That status as JSON text. It is kept only until it is synced. */
  status: string | undefined;
  /** Hash of the fields that we own. It changes when another writer takes one. */
  readonly owned: string;
  /** `owned` as our last apply left it. */
  accepted: string | undefined;
  /** Whether a field that we own may have been changed while no konnector looked. */
  isSuspect: boolean;
  /** The other field manager that wrote last, besides writers of the status. */
  readonly rival: string | undefined;
  /** When this process heard of a change that is not synced yet, on the monotonic clock; or 0. */
  heardAt: number;
}

interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly time?: string;
  readonly fieldsV1?: unknown;
}

type RawObject = KubeObject & {
  readonly status?: unknown;
  readonly metadata: ObjectMeta & { readonly managedFields?: readonly ManagedFields[] };
};

const HASH_LENGTH = 16;

/** Hashes a text; 64 bits tell two versions of one object apart. */
export const hashOf = (text: string): string =>
  crypto.hash("sha256", text, "hex").slice(0, HASH_LENGTH);

/** Field sets differ less than their objects do. */
const hashOfFieldSet = remembered(hashOf);

/** Reads an object of the consumer. Its content is part of the record. */
export function consumerRecord(
  item: unknown,
  synced: SyncedFields = syncedFields(item, CARRY_NOTHING),
  heardAt = 0,
): ConsumerRecord {
  const { metadata, status } = item as RawObject;
  const content = JSON.stringify(synced.content);
  const carried = synced.carried && JSON.stringify(synced.carried);
  const shown = metadata.annotations?.[ANNOTATIONS.syncError];
  return {
    metadata: identityOf(metadata),
    hash: hashOf(carried === undefined ? content : carried + content),
    statusHash: status === undefined ? "" : hashOf(JSON.stringify(status)),
    mark: metadata.annotations?.[ANNOTATIONS.conflict],
    shownError: shown === undefined ? undefined : hashOf(shown),
    wishes: synced.wishes,
    content,
    carried,
    heardAt,
  };
}

/** How to read an object of the provider. */
export interface ProviderRecordOptions {
  readonly manager: string;
  /** Whether generations count only changes of the content, so that they can be translated. */
  readonly hasStatusSubresource: boolean;
}

/** Reads a copy on the provider. Its translated status is part of the record. */
export function providerRecord(
  item: unknown,
  { manager, hasStatusSubresource }: ProviderRecordOptions,
  heardAt = 0,
): ProviderRecord {
  const { metadata, status } = item as RawObject;
  const { annotations, labels } = metadata;
  const clusterUid = annotations?.[ANNOTATIONS.consumerClusterUid];
  const consumerGeneration = Number(annotations?.[ANNOTATIONS.consumerGeneration] ?? 0);
  const generations = { provider: metadata.generation ?? 0, consumer: consumerGeneration };
  const translated = hasStatusSubresource ? translateStatus(status, generations) : status;
  const text = translated === undefined ? undefined : JSON.stringify(translated);
  const own = ownFieldSet(item, manager);
  return {
    metadata: identityOf(metadata),
    clusterUid,
    objectUid: annotations?.[ANNOTATIONS.consumerObjectUid],
    isWatched: labels?.[LABELS.managed] === "true" &&
      labels[LABELS.consumerClusterUid] === clusterUid,
    syncedHash: annotations?.[ANNOTATIONS.syncedHash],
    consumerGeneration,
    statusHash: text === undefined ? "" : hashOf(text),
    status: text,
    owned: own === undefined ? "" : hashOfFieldSet(JSON.stringify(own)),
    accepted: undefined,
    isSuspect: false,
    rival: rivalOf(metadata, manager),
    heardAt,
  };
}

/** Returns the set of the fields that a manager applied to an object and still owns. */
export const ownFieldSet = (item: unknown, manager: string): unknown =>
  (item as RawObject).metadata.managedFields?.find((entry) =>
    entry.manager === manager && entry.operation === "Apply"
  )?.fieldsV1;

/** Keeps the fields that identify an object and say whether it is being deleted. */
function identityOf(from: ObjectMeta): ObjectMeta {
  const metadata: ObjectMeta = { name: from.name };
  if (from.namespace) metadata.namespace = from.namespace;
  if (from.uid) metadata.uid = from.uid;
  if (from.resourceVersion) metadata.resourceVersion = from.resourceVersion;
  if (from.generation) metadata.generation = from.generation;
  if (from.deletionTimestamp) metadata.deletionTimestamp = from.deletionTimestamp;
  if (from.finalizers?.length) metadata.finalizers = from.finalizers.map(shared);
  return metadata;
}

/** Returns one string for all objects that have the usual finalizer, which saves memory. */
const shared = (finalizer: string): string =>
  finalizer === SYNCER_FINALIZER ? SYNCER_FINALIZER : finalizer;

/** Returns the field manager besides ours that wrote an object last. */
export function rivalOf(metadata: ObjectMeta, own: string): string | undefined {
  const { managedFields = [] } = metadata as RawObject["metadata"];
  let last: ManagedFields | undefined;
  for (const entry of managedFields) {
    if (entry.manager === own || entry.subresource) continue;
    if (!last || (entry.time ?? "") > (last.time ?? "")) last = entry;
  }
  return last?.manager;
}

/** Gives a newer record of a copy what this process remembers of the older one. */
export function takeOver(newer: ProviderRecord, older: ProviderRecord): void {
  if (newer.metadata.uid !== older.metadata.uid) return;
  newer.accepted ??= older.accepted;
  newer.isSuspect ||= older.isSuspect;
}

/** Returns the owner of a provider's object, seen from an object of the consumer. */
export function ownerOf(
  { clusterUid, objectUid }: Pick<ProviderRecord, "clusterUid" | "objectUid">,
  us: { readonly clusterUid: string; readonly objectUid: string | undefined },
): Owner {
  if (clusterUid === undefined && objectUid === undefined) return "unmarked";
  if (clusterUid !== us.clusterUid || objectUid === undefined) return "another";
  return objectUid === us.objectUid ? "ours" : "previous";
}

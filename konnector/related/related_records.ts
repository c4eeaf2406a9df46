import { ANNOTATIONS, FIELD_MANAGERS } from "../../common/api/names.ts";
import type { KubeObject, ObjectMeta } from "../../common/api/resources.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { contentHash, contentOf, foreignLabels, type WantedCopy } from "./copy_of.ts";
import { rivalOf } from "../sync/records.ts";
import type { CopyOwner, Difference } from "./plan_copy.ts";

/** What is kept of an object that a rule selects: no labels, no annotations, no data. */
export interface SourceRecord extends MetadataObject {
  /** UID of the binding that wants a copy. */
  readonly binding: string;
  /** Whether it came with a list, so that something may be in the place of its copy already. */
  readonly isListed: boolean;
}

/** What is kept of a copy. */
export interface CopyRecord extends MetadataObject {
  readonly clusterUid: string | undefined;
  readonly connection: string | undefined;
  /** UID of the binding that it came with. */
  readonly binding: string | undefined;
  readonly marksHash: string | undefined;
  /** Hash of its content; undefined if only its metadata was read. */
  readonly contentHash: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly type: string | undefined;
  readonly isImmutable: boolean;
  /** The other field manager that wrote last; undefined if only metadata was read. */
  readonly rival: string | undefined;
  /** The version of the source that it was compared with, or made from. */
  settledWith?: string | undefined;
}

/** Reduces an object that a rule selects. */
export function sourceRecord(
  { metadata: { name, namespace, uid, resourceVersion } }: MetadataObject,
  binding: string,
  isListed: boolean,
): SourceRecord {
  const metadata = { name, namespace, uid, resourceVersion } as ObjectMeta;
  return { metadata, binding, isListed };
}

/** Reduces a whole copy. */
export function copyRecord(item: unknown): CopyRecord {
  const { metadata } = item as KubeObject;
  const content = contentOf(item);
  return {
    ...placeRecord({ metadata }),
    contentHash: contentHash(content),
    type: content.type,
    isImmutable: content.immutable === true,
    rival: rivalOf(metadata, FIELD_MANAGERS.konnectorRelated),
  };
}

/** Reduces what is in the place of a copy, of which only the metadata is known. */
export function placeRecord({ metadata }: MetadataObject): CopyRecord {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, annotations } = metadata;
  return {
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      ...(deletionTimestamp ? { deletionTimestamp } : {}),
    } as ObjectMeta,
    clusterUid: annotations?.[ANNOTATIONS.consumerClusterUid],
    connection: annotations?.[ANNOTATIONS.connection],
    binding: annotations?.[ANNOTATIONS.relatedBinding],
    marksHash: annotations?.[ANNOTATIONS.syncedHash],
    contentHash: undefined,
    labels: foreignLabels(metadata),
    type: undefined,
    isImmutable: false,
    rival: undefined,
  };
}

/** The Connection that examines a copy. */
export interface Viewer {
  readonly clusterUid: string;
  readonly connection: string;
  /** UIDs of its bindings. */
  readonly bindings: readonly string[];
  /** Says whether another Connection exists, and leads to the same provider. */
  readonly relationTo: (connection: string) => "sibling" | "stranger" | "gone";
}

/** Returns who owns a copy. */
export function ownerOf(
  { clusterUid, connection, binding }: CopyRecord,
  viewer: Viewer,
): CopyOwner {
  if (clusterUid === undefined && binding === undefined) return "unmarked";
  if (clusterUid !== viewer.clusterUid || binding === undefined) return "another";
  if (connection === viewer.connection || viewer.bindings.includes(binding)) return "ours";
  const relation = viewer.relationTo(connection ?? "");
  if (relation === "gone") return "ours";
  return relation === "sibling" ? "sibling" : "another";
}

/** Returns how a copy differs from what it should be. */
export function differenceOf(copy: CopyRecord, wanted: WantedCopy, binding: string): Difference {
  const { content, marksHash, labels } = wanted;
  const hasMarks = copy.marksHash === marksHash && copy.binding === binding &&
    Object.entries(labels).every(([key, value]) => copy.labels[key] === value);
  // If someone removed our labels, only its metadata is known: put the labels back.
  if (copy.contentHash === undefined) return "changed";
  // Nobody can change the data of an immutable copy. A webhook may have changed it at creation.
  const isUnchangeable = copy.isImmutable && content.immutable === true &&
    copy.marksHash === marksHash;
  const hasContent = isUnchangeable || copy.contentHash === wanted.contentHash;
  if (hasContent) return hasMarks ? "none" : "changed";
  return copy.isImmutable || copy.type !== content.type ? "fixed" : "changed";
}

import { ANNOTATIONS, LABELS } from "../../common/api/names.ts";
import type { KubeObject, ObjectMeta, RelatedResource } from "../../common/api/resources.ts";
import { isOurs } from "../../common/kube/metadata.ts";
import type { ObjectKey } from "../../common/kube/paths.ts";
import { clusterMarks, type Guard, guardFields } from "../sync/applied_object.ts";
import { hashOf } from "../sync/records.ts";
import type { RelatedKind } from "./rules_of.ts";

/** What a copy gets from a Secret or ConfigMap, besides labels. */
export interface Content {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly immutable?: boolean;
}

/** A copy as it should be. It holds data, so it is dropped as soon as it is applied. */
export interface WantedCopy {
  readonly content: Content;
  readonly labels: Readonly<Record<string, string>>;
  /** Hash of the content, which never leaves this process. */
  readonly contentHash: string;
  /** Hash of what else is copied, and of the source's UID. It is a mark, so it reveals no data. */
  readonly marksHash: string;
}

/** Whose copy it is. */
export interface CopyMarks {
  readonly clusterUid: string;
  readonly connection: string;
  /** UID of the binding. */
  readonly binding: string;
}

/** Why an object of the other cluster cannot be copied. */
export class MalformedError extends Error {
  override readonly name = "MalformedError";
}

/**
 * Builds the copy that an object should have. Labels go to the provider only: on the consumer they
 * could make its controllers act on what a provider chose.
 */
export function copyOf(source: unknown, direction: RelatedKind["direction"]): WantedCopy {
  const { metadata } = source as KubeObject;
  const content = contentOf(source);
  const labels = direction === "FromConsumer" ? foreignLabels(metadata) : {};
  return {
    content,
    labels,
    contentHash: contentHash(content),
    marksHash: hashOf(JSON.stringify([metadata.uid, labels, content.immutable === true])),
  };
}

/** Reads the part of an object that is copied. Throws if no cluster would store it so. */
export function contentOf(object: unknown): Content {
  const { data, binaryData, type, immutable } = object as Record<string, unknown>;
  if (type !== undefined && typeof type !== "string") throw malformed("type");
  if (immutable !== undefined && typeof immutable !== "boolean") throw malformed("immutable");
  return {
    ...texts("data", data),
    ...texts("binaryData", binaryData),
    ...(type === undefined ? {} : { type }),
    ...(immutable === undefined ? {} : { immutable }),
  };
}

function texts(field: "data" | "binaryData", value: unknown): Content {
  if (value === undefined || value === null) return {};
  const isMap = typeof value === "object" && !Array.isArray(value);
  if (!isMap || !Object.values(value).every((each) => typeof each === "string")) {
    throw malformed(field);
  }
  return { [field]: value };
}

const malformed = (field: string) => new MalformedError(`its field ${field} is malformed`);

/** Hashes a content. API servers sort the fields of maps. */
export const contentHash = ({ data, binaryData, type, immutable }: Content): string =>
  hashOf(JSON.stringify([data ?? {}, binaryData ?? {}, type ?? "", immutable === true]));

/** Returns the labels of an object that are not marks of xbind. */
export const foreignLabels = ({ labels = {} }: Pick<ObjectMeta, "labels">) =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => !isOurs(key)));

/** Builds the object to apply. */
export function appliedCopy(
  resource: RelatedResource["resource"],
  { name, namespace }: ObjectKey,
  guard: Guard,
  { clusterUid, connection, binding }: CopyMarks,
  { content, labels, marksHash }: WantedCopy,
): KubeObject & Content {
  const marks = clusterMarks(clusterUid);
  return {
    apiVersion: "v1",
    kind: resource === "secrets" ? "Secret" : "ConfigMap",
    metadata: {
      name,
      ...(namespace ? { namespace } : {}),
      ...guardFields(guard),
      labels: { ...labels, ...marks.labels },
      annotations: {
        ...marks.annotations,
        [ANNOTATIONS.relatedBinding]: binding,
        [ANNOTATIONS.connection]: connection,
        [ANNOTATIONS.syncedHash]: marksHash,
      },
    },
    ...content,
  };
}

/** Selects the copies of a consumer cluster. */
export const copiesOf = (clusterUid: string): string =>
  `${LABELS.managed}=true,${LABELS.consumerClusterUid}=${clusterUid}`;

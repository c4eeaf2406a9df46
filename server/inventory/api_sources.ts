import {
  CONFIG_MAPS,
  type CustomResourceDefinition,
  type LabelSelector,
  type ObjectMeta,
  type RelatedResource,
  type ResourceType,
  SECRETS,
} from "../../common/api/resources.ts";
import type { Selection } from "../../common/kube/client.ts";
import type { CompleteSource } from "../../common/kube/follow.ts";
import { type MetadataObject, reduceMetadata } from "../../common/kube/metadata.ts";
import { ANNOTATIONS, LABELS } from "../../common/api/names.ts";
import { selectorText } from "./selector.ts";

const MANAGED: Selection = { labelSelector: `${LABELS.managed}=true` };
const MAX_ANNOTATION_LENGTH = 253;

/** Where the objects of a CRD are read: in the version they are stored in, if that is served. */
export function servedType({ spec }: CustomResourceDefinition): ResourceType | undefined {
  const served = spec.versions.filter((version) => version.served);
  const version = served.find(({ storage }) => storage) ?? served[0];
  return version && {
    group: spec.group,
    version: version.name,
    plural: spec.names.plural,
    kind: spec.names.kind,
    namespaced: spec.scope === "Namespaced",
  };
}

/** The type of a related resource. */
export const relatedType = (resource: RelatedResource["resource"]): ResourceType =>
  resource === "secrets" ? SECRETS : CONFIG_MAPS;

/** Objects that a konnector made, without their labels. */
export const managedObjects = (type: ResourceType): CompleteSource<MetadataObject> =>
  source(type, MANAGED, essentials);

/** Copies that a konnector made, with all labels, since rules of any Export select by them. */
export const managedCopies = (type: ResourceType): CompleteSource<MetadataObject> =>
  source(type, MANAGED, (item) => {
    const { labels } = (item as MetadataObject).metadata;
    const { metadata } = essentials(item);
    return { metadata: labels ? { ...metadata, labels } : metadata };
  });

/** Objects that the API server selects by their labels. */
export const labelledObjects = (
  type: ResourceType,
  selector: LabelSelector,
): CompleteSource<MetadataObject> => {
  const labelSelector = selectorText(selector);
  return source(type, labelSelector ? { labelSelector } : {}, essentials);
};

/** Objects of certain names in any namespace; of all others nothing is kept. */
export const namedObjects = (
  type: ResourceType,
  names: readonly string[],
): CompleteSource<MetadataObject> => {
  const [only] = names;
  if (names.length === 1) {
    return source(type, { fieldSelector: `metadata.name=${only}` }, essentials);
  }
  const wanted = new Set(names);
  return source(
    type,
    {},
    (item) => wanted.has((item as MetadataObject).metadata.name) ? essentials(item) : UNWANTED,
  );
};

/**
 * What every object nobody asked for is decoded to. There is no selection by several names, and a
 * cache keeps this one only once, for it always has the same key and version.
 */
const UNWANTED: MetadataObject = { metadata: { name: "" } };

/** Whether an object of a cache was asked for. */
export const isWanted = (object: MetadataObject): boolean => object !== UNWANTED;

const source = (
  type: ResourceType,
  selection: Selection,
  decode: (item: unknown) => MetadataObject,
): CompleteSource<MetadataObject> => ({ type, selection, metadataOnly: true, decode });

/** What a row shows. Consumers write the rest, and as much of it as they like: it is dropped. */
function essentials(item: unknown): MetadataObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp, annotations } =
    reduceMetadata(item).metadata;
  const metadata: ObjectMeta = { name };
  if (namespace) metadata.namespace = namespace;
  if (uid) metadata.uid = uid;
  if (resourceVersion) metadata.resourceVersion = resourceVersion;
  if (creationTimestamp) metadata.creationTimestamp = creationTimestamp;
  for (const key of [ANNOTATIONS.consumerClusterUid, ANNOTATIONS.relatedBinding]) {
    const value = annotations?.[key];
    if (!value || value.length > MAX_ANNOTATION_LENGTH) continue;
    metadata.annotations = { ...metadata.annotations, [key]: value };
  }
  return { metadata };
}

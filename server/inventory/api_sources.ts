import type {
  CustomResourceDefinition,
  LabelSelector,
  ObjectMeta,
  ResourceType,
} from "../../common/api/resources.ts";
import type { Selection } from "../../common/kube/client.ts";
import type { CompleteSource } from "../../common/kube/follow.ts";
import { type MetadataObject, reduceMetadata } from "../../common/kube/metadata.ts";
import { ANNOTATIONS, isDnsSubdomain, LABELS } from "../../common/api/names.ts";
import { selectorText } from "../../common/api/selector.ts";

const MANAGED: Selection = { labelSelector: `${LABELS.managed}=true` };
/** Copies from consumers are never the provider's own objects. */
const NOT_MANAGED = `${LABELS.managed}!=true`;
const MAX_UID_LENGTH = 253;

/** Returns the type to read the objects of a CRD in: the stored version, if it is served. */
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

/** Selects the objects that a konnector made, without their labels. */
export const managedObjects = (type: ResourceType): CompleteSource<MetadataObject> =>
  source(type, MANAGED, essentials);

/** Selects the copies that a konnector made, with all labels, because rules select by them. */
export const managedCopies = (type: ResourceType): CompleteSource<MetadataObject> =>
  source(type, MANAGED, (item) => {
    const { labels } = (item as MetadataObject).metadata;
    const { metadata } = essentials(item);
    return { metadata: labels ? { ...metadata, labels } : metadata };
  });

/** Selects the provider's own objects by their labels, in the API server. */
export const labelledObjects = (
  type: ResourceType,
  selector: LabelSelector,
): CompleteSource<MetadataObject> => {
  const labels = selectorText(selector);
  const labelSelector = labels ? `${labels},${NOT_MANAGED}` : NOT_MANAGED;
  return source(type, { labelSelector }, essentials);
};

/** Selects the provider's own objects by their names, and keeps nothing of all others. */
export const namedObjects = (
  type: ResourceType,
  names: readonly string[],
): CompleteSource<MetadataObject> => {
  const [only] = names;
  if (names.length === 1) {
    const fieldSelector = `metadata.name=${only}`;
    return source(type, { fieldSelector, labelSelector: NOT_MANAGED }, essentials);
  }
  const wanted = new Set(names);
  return source(
    type,
    { labelSelector: NOT_MANAGED },
    (item) => wanted.has((item as MetadataObject).metadata.name) ? essentials(item) : UNWANTED,
  );
};

/**
 * Replaces every object that was not selected, because the API server cannot select by several
 * names. A cache keeps it only once, because it always has the same key and version.
 */
const UNWANTED: MetadataObject = { metadata: { name: "" } };

/** Returns whether an object of a cache was selected. */
export const isWanted = (object: MetadataObject): boolean => object !== UNWANTED;

const source = (
  type: ResourceType,
  selection: Selection,
  decode: (item: unknown) => MetadataObject,
): CompleteSource<MetadataObject> => ({ type, selection, metadataOnly: true, decode });

/** Keeps the metadata that a row shows. Consumers can write any amount of the rest. */
function essentials(item: unknown): MetadataObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp, annotations } =
    reduceMetadata(item).metadata;
  const metadata: ObjectMeta = { name };
  if (namespace) metadata.namespace = namespace;
  if (uid) metadata.uid = uid;
  if (resourceVersion) metadata.resourceVersion = resourceVersion;
  if (creationTimestamp) metadata.creationTimestamp = creationTimestamp;
  const consumerUid = annotations?.[ANNOTATIONS.consumerClusterUid];
  if (consumerUid && consumerUid.length <= MAX_UID_LENGTH) {
    metadata.annotations = { [ANNOTATIONS.consumerClusterUid]: consumerUid };
    const connection = annotations[ANNOTATIONS.connection];
    if (connection && isDnsSubdomain(connection)) {
      metadata.annotations[ANNOTATIONS.connection] = connection;
    }
  }
  return { metadata };
}

import { ANNOTATIONS, FIELD_MANAGERS, LABELS } from "../../common/api/names.ts";
import { CRDS, type CustomResourceDefinition, isDeleting } from "../../common/api/resources.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isConflict, isNotFound } from "../../common/kube/kube_error.ts";
import { METADATA_LIST, type MetadataObject } from "../../common/kube/metadata.ts";
import { CREATE_ONLY } from "../sync/applied_object.ts";
import type { PulledCrd } from "./consumer_crd.ts";

/** What installing needs. */
export interface InstallDeps {
  readonly consumer: KubeClient;
  /** The CRDs of the consumer. */
  readonly crds: Cache<MetadataObject>;
}

/** How an installation ended. */
export type Installed =
  | "installed"
  /** It is as the provider has it, and nothing was written. */
  | "current"
  /** The consumer has a CRD of that name that xbind did not install. It is not touched. */
  | "foreign"
  /** The old CRD of that name is being deleted. */
  | "deleting";

const MANAGER = FIELD_MANAGERS.konnector;

/** Returns whether xbind installed a CRD. */
export const isPulled = ({ metadata }: MetadataObject): boolean =>
  metadata.labels?.[LABELS.managed] === "true" &&
  metadata.annotations?.[ANNOTATIONS.connection] !== undefined;

/** Returns whether a CRD was installed for this Connection. */
export const isPulledBy = (connection: string, crd: MetadataObject): boolean =>
  isPulled(crd) && crd.metadata.annotations?.[ANNOTATIONS.connection] === connection;

/** Installs a CRD, or updates an installed one. Writes nothing if it is up to date. */
export async function installCrd(
  { consumer, crds }: InstallDeps,
  { crd, hash }: PulledCrd,
  signal: AbortSignal,
): Promise<Installed> {
  const { name } = crd.metadata;
  const present = crds.get({ name });
  if (present && isDeleting(present)) return "deleting";
  if (present && !isPulled(present)) return "foreign";
  const { [ANNOTATIONS.schemaHash]: presentHash, [ANNOTATIONS.connection]: presentConnection } =
    present?.metadata.annotations ?? {};
  const connection = crd.metadata.annotations?.[ANNOTATIONS.connection];
  if (presentHash === hash && presentConnection === connection) return "current";
  const guard = present ? { uid: present.metadata.uid ?? "" } : { resourceVersion: CREATE_ONLY };
  try {
    const guarded = { ...crd, metadata: { ...crd.metadata, ...guard } };
    crds.learn(await consumer.apply(CRDS, guarded, MANAGER, signal), MANAGER);
    return "installed";
  } catch (error) {
    // It was created or deleted meanwhile: the next event says which.
    if (isConflict(error)) return present ? "deleting" : "foreign";
    throw error;
  }
}

/** Writes the name of the Connection on a CRD that xbind installed, unless it is there already. */
export async function claimCrd(
  { consumer, crds }: InstallDeps,
  { metadata: { name, resourceVersion = "", annotations } }: MetadataObject,
  connection: string,
  signal: AbortSignal,
): Promise<void> {
  if (annotations?.[ANNOTATIONS.connection] === connection) return;
  const change = { [ANNOTATIONS.connection]: connection };
  const patch = { metadata: { resourceVersion, annotations: change } };
  crds.learn(await consumer.mergePatch(CRDS, { name }, patch, MANAGER, signal), MANAGER);
}

/** Returns whether the consumer stores objects of a CRD; true if that cannot be found out. */
export async function hasObjects(
  consumer: KubeClient,
  { spec: { group, names: { plural, kind }, scope, versions } }: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<boolean> {
  const version = versions.find(({ served }) => served)?.name;
  if (version === undefined) return true;
  const type = { group, version, plural, kind, namespaced: scope === "Namespaced" };
  const page = await consumer.listPage(type, {}, { accept: METADATA_LIST, signal });
  return page.items.length > 0;
}

/** Deletes a CRD that xbind installed, and with it all its objects on the consumer. */
export async function removeCrd(
  { consumer, crds }: InstallDeps,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const present = crds.get({ name });
  if (!present || !isPulled(present) || isDeleting(present)) return;
  const { uid } = present.metadata;
  try {
    await consumer.delete(CRDS, { name }, uid ? { uid } : {}, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

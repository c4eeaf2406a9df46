import { ANNOTATIONS, FIELD_MANAGERS, LABELS } from "../../common/api/names.ts";
import { CRDS, isDeleting } from "../../common/api/resources.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isConflict, isNotFound } from "../../common/kube/kube_error.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
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
  /** The consumer has a CRD of that name that xbind did not install. It is not touched. */
  | "foreign"
  /** The old CRD of that name is being deleted. */
  | "deleting";

const MANAGER = FIELD_MANAGERS.konnector;
/** No object ever has this version, so an apply with it can only create. */
const CREATE_ONLY = "1";

/** Tells whether xbind installed a CRD. */
export const isPulled = ({ metadata }: MetadataObject): boolean =>
  metadata.labels?.[LABELS.managed] === "true" &&
  metadata.annotations?.[ANNOTATIONS.connection] !== undefined;

/** Installs a CRD, or brings an installed one up to date. Writes nothing if it is. */
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
  if (presentHash === hash && presentConnection === connection) return "installed";
  const guard = present ? { uid: present.metadata.uid ?? "" } : { resourceVersion: CREATE_ONLY };
  try {
    const guarded = { ...crd, metadata: { ...crd.metadata, ...guard } };
    crds.learn(await consumer.apply(CRDS, guarded, MANAGER, signal), MANAGER);
    return "installed";
  } catch (error) {
    // It appeared or went meanwhile: the next event tells.
    if (isConflict(error)) return present ? "deleting" : "foreign";
    throw error;
  }
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

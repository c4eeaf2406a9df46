import { ANNOTATIONS } from "../../common/api/names.ts";
import {
  type Connection,
  CRDS,
  type CustomResourceDefinition,
  isDeleting,
} from "../../common/api/resources.ts";
import { errorChain } from "../../common/errors.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { may, type Right } from "../../common/kube/rights.ts";
import { whenServed } from "../../common/kube/when_served.ts";
import type { Log } from "../../common/log/log.ts";
import { incompatibleChanges } from "../schema/compatible_change.ts";
import {
  commonType,
  type CrdRefusedError,
  type PulledCrd,
  pulledCrd,
} from "../schema/consumer_crd.ts";
import { claimCrd, hasObjects, installCrd, isPulled, removeCrd } from "../schema/install_crd.ts";
import { reasonOf, refusalOf } from "../sync/refusals.ts";

/** What installing an API works with. */
export interface InstallDeps {
  readonly consumer: KubeClient;
  /** The CRDs of the consumer. */
  readonly crds: Cache<MetadataObject>;
  readonly log: Log;
}

/** Why the CRD on the consumer differs from the provider's. */
export interface SchemaFault {
  readonly reason: string;
  readonly message: string;
}

/** A CRD on the consumer that objects can be synced with. */
export interface InstalledCrd extends Pick<PulledCrd, "type" | "hash"> {
  readonly problem?: SchemaFault | undefined;
}

const SERVED_WAIT_MS = 10_000;
const INSTALL: Right = {
  verb: "patch",
  group: "apiextensions.k8s.io",
  resource: "customresourcedefinitions",
};

/** Tells a fault from a CRD that can be used. */
export const isFault = (result: SchemaFault | InstalledCrd): result is SchemaFault =>
  "reason" in result;

/** Says that such a CRD is never pulled. */
export const neverPulled = ({ message }: CrdRefusedError): SchemaFault => ({
  reason: "Rejected",
  message: `Its CRD is not pulled: ${message}`,
});

/**
 * Installs the provider's CRD on the consumer as the Connection wants it, or uses the present one.
 * The present one stays if its objects may not fit the new one. Returns why nothing can be used.
 * Throws a `CrdRefusedError` if such a CRD is never pulled.
 */
export async function installApi(
  deps: InstallDeps,
  { metadata: { name: connection }, spec: { schema } }: Connection,
  crd: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<SchemaFault | InstalledCrd> {
  const { consumer, crds } = deps;
  const { name: api } = crd.metadata;
  const present = crds.get({ name: api });
  if (schema?.pullPolicy === "None") {
    if (present) return await usePresent(consumer, present, crd, signal);
    const message = `pullPolicy is None, and the CRD ${api} is missing on this cluster`;
    return { reason: "SchemaMissing", message };
  }
  const pulled = pulledCrd(crd, connection);
  if (present && isDeleting(present)) return beingDeleted(api);
  if (present && !isPulled(present)) {
    // Without the right to install it, someone else must, as with the pull policy None.
    if (await may(consumer, INSTALL, signal)) return foreign(api);
    return await usePresent(consumer, present, crd, signal);
  }
  if (present && schema?.updatePolicy === "Once") {
    await claimCrd(deps, present, connection, signal);
    return await usePresent(consumer, present, crd, signal);
  }
  const isNew = present?.metadata.annotations?.[ANNOTATIONS.schemaHash] !== pulled.hash;
  const written = present && isNew
    ? await change(deps, present, pulled, crd, signal)
    : await write(deps, pulled, signal);
  const isNotAllowed = isFault(written) && written.reason === NOT_ALLOWED;
  if (!present || !isNotAllowed) return written;
  const old = await usePresent(consumer, present, crd, signal);
  return isFault(old) ? old : { ...old, problem: notUpdated(api) };
}

/** Uses the CRD of a paused API, and writes nothing. */
export async function usePaused(
  { consumer, crds }: InstallDeps,
  { spec: { schema } }: Connection,
  crd: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<SchemaFault | InstalledCrd> {
  const { name: api } = crd.metadata;
  const present = crds.get({ name: api });
  const isUsable = present && (isPulled(present) || schema?.pullPolicy === "None");
  if (isUsable) return await usePresent(consumer, present, crd, signal);
  const message = `The CRD ${api} is not installed while its binding is paused`;
  return { reason: "Paused", message };
}

/** Brings a CRD up to date, unless stored objects may not fit the new one. */
async function change(
  deps: InstallDeps,
  present: MetadataObject,
  pulled: PulledCrd,
  crd: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<SchemaFault | InstalledCrd> {
  const { consumer } = deps;
  const { name: api, annotations } = present.metadata;
  const stored = await consumer.get(CRDS, { name: api }, signal);
  const changes = incompatibleChanges(stored.spec, pulled.crd.spec);
  const isAccepted = annotations?.[ANNOTATIONS.acceptSchema] === pulled.hash;
  const isEmpty = changes.length > 0 && !await hasObjects(consumer, stored, signal);
  let problem = incompatible(api, changes, pulled.hash);
  if (changes.length === 0 || isAccepted || isEmpty) {
    const written = await write(deps, pulled, signal);
    if (!isFault(written) || written.reason !== "SchemaIncompatible") return written;
    if (isEmpty) {
      // Such as another scope. Without objects, nothing is lost when it is recreated.
      await removeCrd(deps, api, signal);
      return beingDeleted(api);
    }
    problem = written;
  }
  const connection = pulled.crd.metadata.annotations?.[ANNOTATIONS.connection] ?? "";
  await claimCrd(deps, present, connection, signal);
  const old = typeIn(stored, crd);
  return isFault(old) ? problem : { ...old, problem };
}

/** Writes the CRD. The consumer's API server may refuse it. */
async function write(
  deps: InstallDeps,
  pulled: PulledCrd,
  signal: AbortSignal,
): Promise<SchemaFault | InstalledCrd> {
  const { consumer, log } = deps;
  const { type, hash, crd: { metadata: { name: api } } } = pulled;
  try {
    switch (await installCrd(deps, pulled, signal)) {
      case "current":
        return pulled;
      case "installed":
        log.info("installed a CRD", { api, version: type.version, hash });
        await whenServed(consumer, type, SERVED_WAIT_MS, signal);
        return pulled;
      case "deleting":
        return beingDeleted(api);
      case "foreign":
        return foreign(api);
    }
  } catch (error) {
    if (refusalOf(error) === "forbidden") return notAllowed(api);
    const isRefused = error instanceof KubeError && [400, 403, 413, 422].includes(error.status);
    if (!isRefused) throw error;
    log.warn("a CRD was refused", { api, error: errorChain(error) });
    const message = `This cluster refused the CRD ${api}: ${reasonOf(error)}`;
    return { reason: "SchemaIncompatible", message };
  }
}

/** Uses a CRD that is not brought up to date. */
async function usePresent(
  consumer: KubeClient,
  { metadata: { name } }: MetadataObject,
  crd: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<SchemaFault | InstalledCrd> {
  return typeIn(await consumer.get(CRDS, { name }, signal), crd);
}

/** Returns the type with which objects can be synced under a stored CRD. */
function typeIn(
  stored: CustomResourceDefinition,
  crd: CustomResourceDefinition,
): SchemaFault | InstalledCrd {
  const { name, annotations } = stored.metadata;
  const type = commonType(stored, crd);
  if (type) return { type, hash: annotations?.[ANNOTATIONS.schemaHash] ?? "" };
  const message = `The provider serves no version of ${name} that this cluster has`;
  return { reason: "Rejected", message };
}

const incompatible = (api: string, changes: readonly string[], hash: string): SchemaFault => ({
  reason: "SchemaIncompatible",
  message: `The provider changed ${api} so that objects on this cluster may not fit: ` +
    `${changes.join("; ")}. They are synced with the previous CRD; to install the new one, ` +
    `annotate the CRD here with ${ANNOTATIONS.acceptSchema}=${hash}`,
});

/** The reason of an API whose CRD the konnector may not write. */
const NOT_ALLOWED = "SchemaMissing";

const notAllowed = (api: string): SchemaFault => ({
  reason: NOT_ALLOWED,
  message:
    `The konnector may not install the CRD ${api} on this cluster; install it yourself and ` +
    "set pullPolicy: None, or give the konnector the right with: kubectl bind connect",
});

const notUpdated = (api: string): SchemaFault => ({
  reason: "Forbidden",
  message: `The konnector may not change the CRD ${api} on this cluster, so objects are synced ` +
    "with the previous CRD; give it the right with: kubectl bind connect",
});

const beingDeleted = (api: string): SchemaFault => ({
  reason: "Pending",
  message: `An old CRD ${api} is being deleted`,
});

const foreign = (api: string): SchemaFault => ({
  reason: "ForeignObjectExists",
  message: `This cluster has its own CRD ${api}, which xbind does not touch; ` +
    "delete it, or unbind the API",
});

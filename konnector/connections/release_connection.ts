import {
  CLUSTER_BINDINGS,
  type Connection,
  CRDS,
  type CustomResourceDefinition,
  type KubeObject,
  SECRETS,
} from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isNotFound } from "../../common/kube/kube_error.ts";
import type { Log } from "../../common/log/log.ts";
import { allBindings, type ConsumerCaches } from "../consumer_caches.ts";
import { removeCleanup } from "../finalizer.ts";
import { hasObjects, isPulledBy, removeCrd } from "../schema/install_crd.ts";
import { readCredential } from "./credential.ts";
import { stopBeating } from "./heartbeat.ts";
import type { Links } from "./links.ts";

/** What releasing a Connection needs. */
export interface ReleaseDeps {
  readonly consumer: KubeClient;
  readonly caches: ConsumerCaches;
  readonly links: Links;
  readonly secretNamespaces: readonly string[];
  readonly log: Log;
}

/** Deletes the heartbeat. A closed link is opened once more for it. */
export async function endHeartbeat(
  { links, consumer, secretNamespaces }: ReleaseDeps,
  connection: Connection,
  signal: AbortSignal,
): Promise<void> {
  const { name } = connection.metadata;
  const pinned = connection.status?.remoteClusterUID;
  if (!pinned) return; // it was never connected
  const open = async () => {
    const credential = await readCredential(consumer, connection, secretNamespaces, signal);
    return await links.open(name, credential, "CRD", signal);
  };
  const link = links.get(name) ?? await open();
  if (link.remoteUid !== pinned) throw new Error(`the kubeconfig does not lead to ${pinned}`);
  if (link.boundary) await stopBeating(link.kube, link.heartbeat, signal);
}

/** Deletes the binding that autoBind made, so that it drains. */
export async function deleteBinding(
  { consumer }: ReleaseDeps,
  { metadata: { name, uid = "" } }: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  try {
    await consumer.delete(CLUSTER_BINDINGS, { name }, { uid }, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Removes the CRDs that a Connection pulled and nobody bound, if they have no objects. */
export async function removeUnbound(
  { consumer, caches, log }: ReleaseDeps,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const bound = new Set(
    [...allBindings(caches)].flatMap(({ spec }) => spec.apis.map((api) => api.name)),
  );
  for (const { metadata } of [...caches.crds.values()].filter((crd) => isPulledBy(name, crd))) {
    if (bound.has(metadata.name)) continue;
    const crd = await consumer.find(CRDS, { name: metadata.name }, signal);
    if (!crd || await isInUse(consumer, crd, signal)) continue;
    await removeCrd({ consumer, crds: caches.crds }, metadata.name, signal);
    log.info("removed a CRD that nobody bound", { connection: name, api: metadata.name });
  }
}

/**
 * Takes our finalizer off the Secret of a Connection, unless another Connection uses it. A Secret
 * in a namespace that is not listed is left alone: a Connection may name any.
 */
export async function releaseSecret(
  { caches, consumer, secretNamespaces, log }: ReleaseDeps,
  { metadata, spec: { kubeconfigSecretRef: { namespace, name } } }: Connection,
  signal: AbortSignal,
): Promise<void> {
  if (!secretNamespaces.includes(namespace)) {
    const secret = `${namespace}/${name}`;
    log.info("left a Secret alone that --secret-namespaces does not list", { secret });
    return;
  }
  const isShared = [...caches.connections.values()].some((other) =>
    other.metadata.name !== metadata.name &&
    other.spec.kubeconfigSecretRef.namespace === namespace &&
    other.spec.kubeconfigSecretRef.name === name
  );
  if (isShared) return;
  const secret = await consumer.find(SECRETS, { namespace, name }, signal);
  if (secret) await removeCleanup(consumer, SECRETS, secret, signal);
}

/** An API that is not served just now may have objects. */
async function isInUse(
  consumer: KubeClient,
  crd: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return await hasObjects(consumer, crd, signal);
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}

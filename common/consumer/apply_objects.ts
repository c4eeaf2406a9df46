import type { FieldManager } from "../api/names.ts";
import {
  CLUSTER_BINDINGS,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CONNECTIONS,
  CRDS,
  DEPLOYMENTS,
  type KubeObject,
  NAMESPACES,
  type ResourceType,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../api/resources.ts";
import type { KubeClient } from "../kube/client.ts";
import { isForbidden, isNotFound, KubeError } from "../kube/kube_error.ts";
import { whenServed } from "../kube/when_served.ts";

/** A consumer cluster to write to, and how the caller reports progress and failures. */
export interface ConsumerWrites {
  readonly kube: KubeClient;
  readonly signal: AbortSignal;
  /** Runs after each object that was applied. */
  readonly applied?: (object: KubeObject) => void;
  /** Gives the error to throw when `what`, such as `Secret/pg-1`, cannot be applied. */
  readonly failed: (what: string, error: unknown) => unknown;
}

/** The cluster does not serve a kind, so the konnector's CRDs are missing. */
export class NotServedError extends Error {
  override readonly name = "NotServedError";

  constructor({ plural, group }: ResourceType) {
    super(`it does not serve ${plural}.${group}`);
  }
}

/** How long to wait until a cluster serves kinds whose CRDs were just installed. */
export const DISCOVERY_WAIT_MS = 10_000;

/** Names an object for people: `Kind/name`. */
export const objectText = ({ kind, metadata }: Pick<KubeObject, "kind" | "metadata">): string =>
  `${kind}/${metadata.name}`;

/**
 * Applies objects in order, takes over fields that others own, and returns the stored objects.
 * Objects that were applied before a failure stay.
 */
export async function applyObjects(
  writes: ConsumerWrites,
  objects: readonly KubeObject[],
  manager: FieldManager,
): Promise<KubeObject[]> {
  const { kube, signal } = writes;
  const stored: KubeObject[] = [];
  for (const object of objects) {
    stored.push(
      await attempt(writes, objectText(object), async () => {
        const answer = await kube.apply(resourceTypeOf(object), object, manager, signal);
        if (!isSame(answer, object)) throw notTheObject(object);
        return answer;
      }),
    );
    writes.applied?.(object);
  }
  return stored;
}

/** Waits until the cluster serves these kinds; fails when it does not in time. */
export async function whenAllServed(
  writes: ConsumerWrites,
  types: readonly ResourceType[],
  waitMs: number,
): Promise<void> {
  const end = performance.now() + waitMs;
  for (const type of types) {
    await attempt(writes, `a ${type.kind}`, async () => {
      try {
        await whenServed(writes.kube, type, end - performance.now(), writes.signal);
      } catch (error) {
        if (isNotFound(error)) throw new NotServedError(type);
        // The right to write a kind does not include listing it.
        if (!isForbidden(error)) throw error;
      }
    });
  }
}

async function attempt<T>(
  { signal, failed }: ConsumerWrites,
  what: string,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    signal.throwIfAborted();
    throw failed(what, error);
  }
}

/** Returns whether an answer is about this object: a proxy's login page may have status 200 too. */
function isSame(answer: unknown, { kind, metadata }: KubeObject): boolean {
  const fields = answer as Partial<KubeObject> | null | undefined;
  return fields?.kind === kind && fields.metadata?.name === metadata.name;
}

const notTheObject = (object: KubeObject): KubeError =>
  new KubeError(`Cannot apply ${objectText(object)}: the answer is not that object`, {
    status: 200,
    reason: "InvalidAnswer",
  });

const BY_KIND = new Map<string, ResourceType>(
  [
    CRDS,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    ROLES,
    ROLE_BINDINGS,
    DEPLOYMENTS,
    SECRETS,
    CONNECTIONS,
    CLUSTER_BINDINGS,
  ].map((type) => [type.kind, type]),
);

/** Finds the resource type of an object in the konnector's manifest or in a bundle. */
export function resourceTypeOf({ kind }: Pick<KubeObject, "kind">): ResourceType {
  const type = BY_KIND.get(kind);
  if (!type) throw new TypeError(`No consumer object is a ${kind}`);
  return type;
}

import type { KubeObject, ResourceType, RoleBinding, Secret } from "../../common/api/resources.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isAlreadyExists } from "../../common/kube/kube_error.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { FIELD_MANAGERS, LABELS } from "../../common/api/names.ts";
import { bindingContent } from "./issued_caches.ts";
import { foreignObject, otherType } from "./provisioning_fault.ts";

const { issuer } = FIELD_MANAGERS;

/** One object that must exist as described. */
export interface Wanted<T extends KubeObject, C extends MetadataObject> {
  readonly type: ResourceType<T>;
  readonly object: T;
  readonly cache: Pick<Cache<C>, "get" | "learn">;
  /** Whether the cached object says what we want; labels are compared anyway. */
  readonly isSame?: (cached: C) => boolean;
}

/**
 * Makes an object of a Grant exist as wanted and writes only when it does not. The first write is
 * a plain create, which can never take over an object that somebody else made.
 */
export async function ensure<T extends KubeObject, C extends MetadataObject>(
  kube: KubeClient,
  { type, object, cache, isSame = () => true }: Wanted<T, C>,
  signal: AbortSignal,
): Promise<void> {
  const key = keyOf(object);
  const cached = cache.get(key);
  if (cached && hasOurLabel(cached, object) && isSame(cached)) return;
  if (!cached) {
    try {
      cache.learn(await kube.create(type, object, issuer, signal), issuer);
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  const live = await kube.get(type, key, signal);
  if (!hasOurLabel(live, object)) {
    throw foreignObject(object, `${LABELS.grant}=${object.metadata.labels?.[LABELS.grant]}`);
  }
  if (isOtherType(live, object)) throw otherType(object, (object as Secret).type ?? "");
  if (refersElsewhere(live, object)) {
    const { uid, resourceVersion } = live.metadata;
    await kube.delete(
      type,
      key,
      { ...uid && { uid }, ...resourceVersion && { resourceVersion } },
      signal,
    );
    cache.learn(await kube.create(type, object, issuer, signal), issuer);
    return;
  }
  await dropAggregation(kube, type, live, signal);
  cache.learn(await kube.apply(type, object, issuer, signal), issuer);
}

/** Lets no rules of others flow into a role; an apply leaves in place what it does not name. */
async function dropAggregation(
  kube: KubeClient,
  type: ResourceType,
  live: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  if (!("aggregationRule" in live)) return;
  const { resourceVersion = "" } = live.metadata;
  const patch = { metadata: { resourceVersion }, aggregationRule: null };
  await kube.mergePatch(type, keyOf(live), patch, issuer, signal);
}

const hasOurLabel = (present: MetadataObject, wanted: MetadataObject): boolean =>
  present.metadata.labels?.[LABELS.grant] === wanted.metadata.labels?.[LABELS.grant];

/** A Secret's type can never be changed, so one of another type was made by somebody else. */
const isOtherType = (live: KubeObject, wanted: KubeObject): boolean =>
  "type" in wanted && (live as Secret).type !== wanted.type;

/** The role of a binding can never be changed, so such a binding has to be made anew. */
function refersElsewhere(live: KubeObject, wanted: KubeObject): boolean {
  if (!("roleRef" in wanted)) return false;
  const only = ({ roleRef }: RoleBinding) => bindingContent({ roleRef });
  return only(live as RoleBinding) !== only(wanted as RoleBinding);
}

import { type Grant, GRANTS } from "../../common/api/resources.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../common/api/names.ts";
import type { EnsureGrantDeps } from "./ensure_grant.ts";

/** The annotation that gives a consumer time to connect before the reaper may revoke its Grant. */
export const boundNow = (boundAt: string): Record<string, string> => ({
  [ANNOTATIONS.boundAt]: boundAt,
});

/**
 * Says on this very version of a Grant that it was bound at this time, unless it says so. A pickup
 * that waits stays as it is. Rejects with a conflict when the Grant has moved on.
 */
export async function stampBound(
  { kube, caches: { grants } }: EnsureGrantDeps,
  grant: Grant,
  boundAt: string,
  signal: AbortSignal,
): Promise<Grant> {
  const { name, uid, resourceVersion = "", annotations: present } = grant.metadata;
  if (present?.[ANNOTATIONS.boundAt] === boundAt) return grant;
  const annotations = { ...boundNow(boundAt), [ANNOTATIONS.wantedUntil]: null };
  const patch = { metadata: { resourceVersion, uid, annotations } };
  const { gateway } = FIELD_MANAGERS;
  const written = await kube.mergePatch(GRANTS, { name }, patch, gateway, signal);
  grants.learn(written, gateway);
  return written;
}

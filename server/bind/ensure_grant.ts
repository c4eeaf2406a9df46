import { isDeepStrictEqual } from "node:util";
import { type Grant, GRANTS, type GrantSpec, isDeleting } from "../../common/api/resources.ts";
import { providerFailed } from "../../common/errors.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../common/kube/kube_error.ts";
import { ANNOTATIONS, CLEANUP_FINALIZER, FIELD_MANAGERS } from "../../common/api/names.ts";
import { Backoff } from "../../common/time/backoff.ts";
import { sleep } from "../../common/time/wait.ts";

/** What making Grants needs. */
export interface EnsureGrantDeps {
  readonly kube: KubeClient;
  readonly caches: {
    readonly grants: Pick<Cache<Grant>, "get" | "learn" | "waitFor" | "waitForAbsence">;
  };
}

const RETRY_LIMITS = { baseMs: 10, capMs: 500 };

/**
 * Makes the spec of the stored Grant what `desired` says, and returns the Grant; only one that is
 * made here gets the annotations too. `known` is what the caller last saw of it; nothing is written
 * when it matches. A Grant that is being deleted is waited out.
 */
export async function ensureGrant(
  { kube, caches: { grants } }: EnsureGrantDeps,
  desired: Grant,
  known: Grant | undefined,
  wantedUntil: string,
  signal: AbortSignal,
): Promise<Grant> {
  const { name } = desired.metadata;
  const backoff = new Backoff(RETRY_LIMITS);
  let current = known;
  for (let tries = 0;; tries++) {
    if (current && isDeleting(current)) {
      await grants.waitForAbsence({ name }, current.metadata.uid, signal);
      current = undefined;
    }
    if (current && !isSameRight(current, desired)) {
      current = await kube.find(GRANTS, { name }, signal);
      if (current && !isSameRight(current, desired)) throw belongsToOthers(desired);
      continue;
    }
    if (current && isDeepStrictEqual(current.spec, desired.spec)) return current;
    try {
      const written = current
        ? await update(kube, current, desired, wantedUntil, signal)
        : await create(kube, desired, wantedUntil, signal);
      grants.learn(written, FIELD_MANAGERS.gateway);
      return written;
    } catch (error) {
      if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
    }
    // The first miss is another bind, or a cache that is a moment behind; more are a crowd.
    if (tries > 0) await sleep(backoff.next(), signal);
    current = await kube.find(GRANTS, { name }, signal);
  }
}

/** The identity and the Export of a Grant never change, so a stored Grant has ours or is not ours. */
const isSameRight = ({ spec }: Grant, desired: Grant): boolean =>
  spec.identity.subject === desired.spec.identity.subject &&
  spec.exportName === desired.spec.exportName;

const belongsToOthers = ({ metadata, spec }: Grant) =>
  providerFailed(
    `bind Export "${spec.exportName}"`,
    `Grant "${metadata.name}" belongs to another identity or Export`,
  );

async function create(
  kube: KubeClient,
  desired: Grant,
  wantedUntil: string,
  signal: AbortSignal,
): Promise<Grant> {
  const metadata = {
    ...desired.metadata,
    annotations: { ...desired.metadata.annotations, [ANNOTATIONS.wantedUntil]: wantedUntil },
    finalizers: [CLEANUP_FINALIZER], // which the issuer would have to add, and a bind waits for that
  };
  const grant = { ...desired, metadata };
  return await kube.create(GRANTS, grant, FIELD_MANAGERS.gateway, signal);
}

/**
 * A merge patch, not an apply: fields of the created object belong to its POST, and an apply by
 * the same manager would leave in place what the Export no longer has.
 */
async function update(
  kube: KubeClient,
  { metadata: { name, uid, resourceVersion = "" } }: Grant,
  desired: Grant,
  wantedUntil: string,
  signal: AbortSignal,
): Promise<Grant> {
  const annotations = { [ANNOTATIONS.wantedUntil]: wantedUntil };
  const patch = {
    metadata: { resourceVersion, uid, annotations },
    spec: replacing(desired.spec),
  };
  return await kube.mergePatch(GRANTS, { name }, patch, FIELD_MANAGERS.gateway, signal);
}

/** The spec as a merge patch that also removes what it does not have. */
const replacing = ({ identity, ...spec }: GrantSpec) => ({
  conflictPolicy: null,
  relatedResources: null,
  ...spec,
  identity: { displayName: null, groups: null, ...identity },
});

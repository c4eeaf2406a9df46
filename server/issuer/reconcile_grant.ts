import {
  condition,
  EXPORTS,
  type Grant,
  GRANTS,
  hasFinalizer,
  isDeleting,
  isReady,
  type KubeObject,
  NAMESPACES,
} from "../../common/api/resources.ts";
import {
  boundaryName,
  CLEANUP_FINALIZER,
  clusterRoleName,
  FIELD_MANAGERS,
  isDnsSubdomain,
} from "../../common/api/names.ts";
import {
  done,
  type Outcome,
  type Reconcile,
  requeueAfter,
} from "../../common/control/controller.ts";
import { isConflict, isForbidden, isNotFound } from "../../common/kube/kube_error.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { together } from "../../common/time/wait.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { Config } from "../config.ts";
import {
  authorizedCondition,
  hasAuthorizedCondition,
  hasLostRights,
} from "./authorized_condition.ts";
import { boundaryTerminates, keepBoundary, put, putBoundary } from "./ensure.ts";
import { type GrantObjects, grantObjects, withoutRights } from "./grant_objects.ts";
import {
  failed,
  faultMessage,
  ISSUED,
  NOT_AUTHORIZED,
  notExported,
  NotYet,
  pending,
  type Readiness,
  settle,
} from "./grant_status.ts";
import { isExported, type IssuerCaches } from "./issued_caches.ts";
import { offeredRelated, type RelatedRules } from "./offered_related.ts";
import { cleanUpVanished, type RevokeDeps, revokeGrant } from "./revoke_grant.ts";
import { isUrgent, putToken, type TokenDeps } from "./token.ts";
import { clearAuthorized, writeAuthorized, type WriteAuthorizedDeps } from "./write_authorized.ts";

/** What reconciling Grants needs. */
export interface GrantDeps extends TokenDeps, RevokeDeps, WriteAuthorizedDeps {
  readonly config: Pick<Config, "issuerScope" | "authorizationRevoke">;
  /** Present with `--authorization=Kubernetes`. */
  readonly authorizer?: Pick<Authorizer, "mayBind"> | undefined;
}

const LOOK_AGAIN_MS = 1_000;
const YOUNG_MS = 2_000;

/** Turns one Grant into credentials, or takes them back when it is being deleted. */
export const reconcileGrant = (deps: GrantDeps): Reconcile => async (name, signal) => {
  const grant = deps.caches.grants.get({ name });
  if (!grant) return await cleanUpVanished(deps, name, signal);
  try {
    if (isDeleting(grant)) return await revokeGrant(deps, grant, signal);
    return await issueGrant(deps, grant, signal);
  } catch (error) {
    // Another writer was faster. The event of its write brings the Grant back too.
    if (isConflict(error)) return requeueAfter(LOOK_AGAIN_MS);
    if (isNotFound(error) && !await deps.kube.find(GRANTS, { name }, signal)) return done;
    const message = faultMessage(error);
    if (message) await settle(deps, grant, failed(message), signal);
    throw error;
  }
};

async function issueGrant(deps: GrantDeps, grant: Grant, signal: AbortSignal): Promise<Outcome> {
  const { apis, missing } = grantableApis(grant, deps.caches);
  const related = await relatedRules(deps, grant, signal);
  const offered = { ...grant, spec: { ...grant.spec, relatedResources: [...related.offered] } };
  const settleAs = (readiness: Readiness) =>
    settle(deps, grant, { ...readiness, relatedMissing: related.missing }, signal);
  const wanted = grantObjects(offered, apis, deps.config);
  if (!deps.authorizer && hasAuthorizedCondition(grant)) await clearAuthorized(deps, grant, signal);
  try {
    if (await isRevoked(deps, grant, signal)) {
      await provision(deps, grant, withoutRights(wanted), signal);
      await settleAs(NOT_AUTHORIZED);
      // The gateway let the bind through, so our answer may be the older one.
      return isUrgent(grant, deps.now()) ? requeueAfter(LOOK_AGAIN_MS) : done;
    }
    await provision(deps, grant, wanted, signal);
    if (missing.length === 0 && mayBeMarked(deps.caches, grant)) {
      await unmarkBoundary(deps, grant, signal);
    }
    await settleAs(missing.length > 0 ? notExported(missing) : ISSUED);
    return done;
  } catch (error) {
    const notYet = await asNotYet(deps, grant, error, signal);
    if (!notYet) throw error;
    if (missing.length === 0 && isYoung(grant, deps.now())) return requeueAfter(YOUNG_MS);
    await settleAs(missing.length > 0 ? notExported(missing) : pending(notYet.waitsFor));
    return notYet.lookAgainMs ? requeueAfter(notYet.lookAgainMs) : done;
  }
}

/** A bind that waits was allowed a moment ago, so the last sweep may be out of date. */
async function isRevoked(deps: GrantDeps, grant: Grant, signal: AbortSignal): Promise<boolean> {
  const { config, authorizer, now } = deps;
  if (!config.authorizationRevoke || !authorizer || !hasLostRights(grant)) return false;
  if (!isUrgent(grant, now())) return true;
  const { identity, exportName } = grant.spec;
  const isAllowed = await authorizer.mayBind(identity, exportName, signal);
  const next = isAllowed &&
    authorizedCondition(grant, { isAllowed, nowMs: now(), ...NO_REVOCATION });
  if (next) await writeAuthorized(deps, grant, next, signal);
  return !isAllowed;
}

const NO_REVOCATION = { revokes: false, mayRevoke: false, isHeld: false };

/** Makes everything of a Grant exist. Throws NotYet if something has to happen first. */
async function provision(
  deps: GrantDeps,
  grant: Grant,
  wanted: GrantObjects,
  signal: AbortSignal,
): Promise<void> {
  const putOne = (object: KubeObject) => put(deps, object, signal);
  // The boundary outlives its Grants, so it need not wait for the finalizer.
  await together([
    addFinalizer(deps, grant, signal),
    putBoundary(deps, wanted.boundary, signal),
  ]);
  // The API server delays objects in a brand-new namespace by 50 ms. The ClusterRole is in none.
  await putOne(wanted.clusterRole);
  // The account goes first, because the token waits for it.
  const credentials = putOne(wanted.account)
    .then(() => putToken(deps, grant, wanted.tokenSecret, signal));
  const rights = putOne(wanted.role)
    .then(() => together([putOne(wanted.roleBinding), putOne(wanted.clusterRoleBinding)]));
  await together([rights, credentials]); // in this order: a fault is told before a "not yet"
}

async function addFinalizer(
  { kube, caches }: GrantDeps,
  grant: Grant,
  signal: AbortSignal,
): Promise<void> {
  if (hasFinalizer(grant, CLEANUP_FINALIZER)) return;
  const { name, resourceVersion = "", finalizers = [] } = grant.metadata;
  const patch = { metadata: { resourceVersion, finalizers: [...finalizers, CLEANUP_FINALIZER] } };
  const patched = await kube.mergePatch(GRANTS, { name }, patch, FIELD_MANAGERS.issuer, signal);
  caches.grants.learn(patched, FIELD_MANAGERS.issuer);
}

/**
 * Tells which APIs the Grant gets. An API enters only while its CRD is exported. Once granted it
 * stays while the Grant lists it, so that a lost label never cuts off live consumers.
 */
function grantableApis(grant: Grant, caches: IssuerCaches): { apis: string[]; missing: string[] } {
  const { name } = grant.metadata;
  const namespace = boundaryName(grant.spec.identity.subject);
  const granted = new Set([
    ...caches.roles.get({ name, namespace })?.apis ?? [],
    ...caches.clusterRoles.get({ name: clusterRoleName(name) })?.apis ?? [],
  ]);
  const names = grant.spec.apis.map((api) => api.name);
  const isGrantable = (api: string) => granted.has(api) || isExported(caches, api);
  return {
    apis: names.filter(isGrantable),
    missing: names.filter((api) => !isGrantable(api)),
  };
}

/** Reads the Export live before it refuses a rule: a bind may have read a newer one. */
async function relatedRules(
  { kube, caches: { exports } }: GrantDeps,
  grant: Grant,
  signal: AbortSignal,
): Promise<RelatedRules> {
  const { exportName: name } = grant.spec;
  const known = offeredRelated(grant, exports.get({ name }));
  if (known.missing.length === 0) return known;
  const offer = isDnsSubdomain(name) ? await kube.find(EXPORTS, { name }, signal) : undefined;
  return offeredRelated(grant, offer);
}

/** Only a boundary older than the Grant can have the mark of a reaper that missed the Grant. */
function mayBeMarked({ boundaries }: IssuerCaches, grant: Grant): boolean {
  const boundary = boundaries.get({ name: boundaryName(grant.spec.identity.subject) });
  const isYounger = madeAt(boundary) >= madeAt(grant);
  return !isReady(grant) && !isYounger;
}

async function unmarkBoundary(
  { kube }: GrantDeps,
  { spec }: Grant,
  signal: AbortSignal,
): Promise<void> {
  const name = boundaryName(spec.identity.subject);
  if (!await keepBoundary(kube, name, signal)) throw boundaryTerminates();
}

/** Recognises a boundary that began to terminate before its watch told us. */
async function asNotYet(
  { kube }: GrantDeps,
  { spec }: Grant,
  error: unknown,
  signal: AbortSignal,
): Promise<NotYet | undefined> {
  if (error instanceof NotYet) return error;
  if (!isForbidden(error)) return undefined;
  const name = boundaryName(spec.identity.subject);
  const boundary = await kube.find(NAMESPACES, { name }, signal);
  return boundary && isDeleting(boundary) ? boundaryTerminates() : undefined;
}

/** Most Grants are Ready within two seconds, so Pending is not written before that. */
const isYoung = (grant: Grant, nowMs: number): boolean =>
  !condition(grant, "Ready") && nowMs - madeAt(grant) < YOUNG_MS;

const madeAt = (object: MetadataObject | undefined): number =>
  Date.parse(object?.metadata.creationTimestamp ?? "");

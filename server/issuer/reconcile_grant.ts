import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  condition,
  EXPORTS,
  type Grant,
  GRANTS,
  hasFinalizer,
  isDeleting,
  isReady,
  NAMESPACES,
  ROLE_BINDINGS,
  ROLES,
  SERVICE_ACCOUNTS,
} from "../../common/api/resources.ts";
import type { Config } from "../config.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import { keepBoundary } from "../provider/keep_boundary.ts";
import { isConflict, isForbidden, isNotFound } from "../../common/kube/kube_error.ts";
import {
  ANNOTATIONS,
  boundaryName,
  CLEANUP_FINALIZER,
  clusterRoleName,
  FIELD_MANAGERS,
  isDnsSubdomain,
} from "../../common/api/names.ts";
import { auditLine } from "../../common/log/audit_line.ts";
import { backoffStep } from "../../common/time/backoff.ts";
import {
  done,
  type Outcome,
  type Reconcile,
  requeueAfter,
} from "../../common/control/controller.ts";
import type { Log } from "../../common/log/log.ts";
import { cleanUpVanished } from "./clean_up_vanished.ts";
import { type GrantObjects, grantObjects } from "./grant_objects.ts";
import { ensure } from "./ensure.ts";
import { ensureBoundary } from "./ensure_boundary.ts";
import { ensureToken, type TokenDeps, type TokenState } from "./token.ts";
import { isExported } from "./issued_caches.ts";
import {
  failed,
  fewOf,
  ISSUED,
  leftBehind,
  notExported,
  pending,
  type Readiness,
  RELATED_NOT_EXPORTED,
  statusUpdate,
} from "./grant_status.ts";
import {
  bindingContent,
  type IssuerCaches,
  type Remembered,
  rulesContent,
} from "./issued_caches.ts";
import { offeredRelated, type RelatedRules } from "./offered_related.ts";
import { faultMessage } from "./provisioning_fault.ts";
import { removeFinalizer, revokeGrant } from "./revoke_grant.ts";
import { together } from "../../common/time/wait.ts";

/** What reconciling Grants needs. */
export interface GrantDeps extends TokenDeps {
  readonly caches: IssuerCaches;
  /** Grants whose revocation has to wait for something, and how often it looked. */
  readonly revoking: Map<string, number>;
  readonly config: Pick<Config, "issuerScope">;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
}

const CONFLICT_LOOK_MS = 1_000;
const TERMINATING_LOOK_MS = 2_000;
/** How soon to look again for what a revocation could not remove. */
const LEFT_LOOKS = { baseMs: 500, capMs: 60_000 };
/** A re-bind waits 30 s for the old Grant to go: four looks take about four seconds. */
const HEARTBEAT_LOOKS = 4;
const YOUNG_MS = 2_000;

/** Turns one Grant into credentials, or takes them back when it is being deleted. */
export const reconcileGrant = (deps: GrantDeps): Reconcile => async (name, signal) => {
  const cached = deps.caches.grants.get({ name });
  if (!cached || isDeleting(cached)) deps.slots.release(name);
  if (!cached) return await cleanUp(deps, name, signal);
  try {
    if (isDeleting(cached)) return await revoke(deps, cached, signal);
    return await provision(deps, cached, signal);
  } catch (error) {
    deps.slots.release(name); // until it is tried again
    // Somebody wrote at the same time, which is an event of its own.
    if (isConflict(error)) return requeueAfter(CONFLICT_LOOK_MS);
    if (isNotFound(error) && !await deps.kube.find(GRANTS, { name }, signal)) return done;
    // The namespace may have begun to terminate before its watch told us.
    if (isForbidden(error) && await isBoundaryTerminating(deps, cached, signal)) {
      return await waitForBoundary(deps, cached, signal);
    }
    const message = faultMessage(error);
    if (message) await settle(deps, cached, failed(message), signal);
    throw error;
  } finally {
    deps.slots.pass(name);
  }
};

async function provision(deps: GrantDeps, seen: Grant, signal: AbortSignal): Promise<Outcome> {
  const { kube, caches, config } = deps;
  const { apis, missing } = grantableApis(seen, caches);
  const related = await relatedRules(deps, seen, signal);
  const granted = { ...seen, spec: { ...seen.spec, relatedResources: [...related.offered] } };
  const desired = grantObjects(granted, apis, config);
  // The boundary outlives its Grants, so only what comes after it has to wait for the finalizer.
  const [grant, boundary] = await together([
    withFinalizer(deps, seen, signal),
    ensureBoundary(kube, caches, desired.boundary, signal),
  ]);
  if (boundary === "terminating") return await waitForBoundary(deps, grant, signal);
  // In no namespace, so it comes first: as long as the API server has not noticed the new namespace
  // itself, it holds back for 50 ms what is made in there.
  await ensureClusterRole(deps, desired, signal);
  const [token] = await together([
    ensureAccountAndToken(deps, grant, desired, signal),
    ensureOtherRights(deps, desired, signal),
  ]);
  const readiness = { ...readinessOf(missing, token), relatedMissing: related.missing };
  if (readiness.reason === "Pending" && isYoung(grant, deps.now())) return requeueAfter(YOUNG_MS);
  if (readiness.ready && !await secureBoundary(deps, grant, desired, signal)) {
    return await waitForBoundary(deps, grant, signal);
  }
  await settle(deps, grant, readiness, signal);
  return !token.filled && token.lookAgainMs ? requeueAfter(token.lookAgainMs) : done;
}

/** A new Grant is usually Ready before anybody could read that it is not: no write for that. */
const isYoung = (grant: Grant, nowMs: number): boolean =>
  !condition(grant, "Ready") &&
  nowMs - Date.parse(grant.metadata.creationTimestamp ?? "") < YOUNG_MS;

/**
 * Says whether the boundary of a Grant that is about to be Ready stays, and sees to it. Only one older
 * than the Grant may have been marked by a reaper that could not see the Grant yet.
 */
async function secureBoundary(
  { kube, caches }: GrantDeps,
  grant: Grant,
  { boundary: { metadata: { name } } }: GrantObjects,
  signal: AbortSignal,
): Promise<boolean> {
  if (isReady(grant)) return true;
  const madeAt = Date.parse(caches.boundaries.get({ name })?.metadata.creationTimestamp ?? "");
  if (madeAt >= Date.parse(grant.metadata.creationTimestamp ?? "")) return true;
  return await keepBoundary(kube, name, FIELD_MANAGERS.issuer, signal);
}

async function waitForBoundary(
  deps: GrantDeps,
  grant: Grant,
  signal: AbortSignal,
): Promise<Outcome> {
  await settle(deps, grant, pending("its terminating namespace to go"), signal);
  return requeueAfter(TERMINATING_LOOK_MS);
}

async function isBoundaryTerminating(
  { kube }: GrantDeps,
  { spec }: Grant,
  signal: AbortSignal,
): Promise<boolean> {
  const name = boundaryName(spec.identity.subject);
  const boundary = await kube.find(NAMESPACES, { name }, signal);
  return boundary !== undefined && isDeleting(boundary);
}

const readinessOf = (missing: readonly string[], token: TokenState): Readiness => {
  if (missing.length > 0) return notExported(missing);
  return token.filled ? ISSUED : pending(token.waitsFor);
};

/**
 * An API enters only while its CRD is exported; once granted it stays as long as the Grant lists
 * it, so that a lost label never cuts live consumers off.
 */
function grantableApis(grant: Grant, caches: IssuerCaches): { apis: string[]; missing: string[] } {
  const { name } = grant.metadata;
  const namespace = boundaryName(grant.spec.identity.subject);
  const granted = new Set([
    ...caches.roles.get({ name, namespace })?.apis ?? [],
    ...caches.clusterRoles.get({ name: clusterRoleName(name) })?.apis ?? [],
  ]);
  const apis: string[] = [];
  const missing: string[] = [];
  for (const api of grant.spec.apis) {
    const allowed = granted.has(api.name) || isExported(caches, api.name);
    (allowed ? apis : missing).push(api.name);
  }
  return { apis, missing };
}

/** Read live before anything is refused: the cache may not know yet what a bind read just now. */
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

async function ensureAccountAndToken(
  deps: GrantDeps,
  grant: Grant,
  { account, tokenSecret }: GrantObjects,
  signal: AbortSignal,
): Promise<TokenState> {
  const { kube, caches: { accounts } } = deps;
  await ensure(kube, { type: SERVICE_ACCOUNTS, object: account, cache: accounts }, signal);
  const { name, namespace } = account.metadata;
  const present = accounts.get({ name, namespace });
  if (!present) return { filled: false, waitsFor: "its account" };
  return await ensureToken(deps, tokenSecret, present, isUrgent(grant, deps.now()), signal);
}

const hasContent = (content: string) => (cached: Remembered): boolean => cached.content === content;

async function ensureClusterRole(
  { kube, caches }: GrantDeps,
  { clusterRole }: GrantObjects,
  signal: AbortSignal,
): Promise<void> {
  await ensure(kube, {
    type: CLUSTER_ROLES,
    object: clusterRole,
    cache: caches.clusterRoles,
    isSame: hasContent(rulesContent(clusterRole.rules)),
  }, signal);
}

/** Not all at once: that would slow down the account, which the token has to wait for. */
async function ensureOtherRights(
  { kube, caches }: GrantDeps,
  { role, roleBinding, clusterRoleBinding }: GrantObjects,
  signal: AbortSignal,
): Promise<void> {
  await ensure(kube, {
    type: ROLES,
    object: role,
    cache: caches.roles,
    isSame: hasContent(rulesContent(role.rules)),
  }, signal);
  await together([
    ensure(kube, {
      type: ROLE_BINDINGS,
      object: roleBinding,
      cache: caches.roleBindings,
      isSame: hasContent(bindingContent(roleBinding)),
    }, signal),
    ensure(kube, {
      type: CLUSTER_ROLE_BINDINGS,
      object: clusterRoleBinding,
      cache: caches.clusterRoleBindings,
      isSame: hasContent(bindingContent(clusterRoleBinding)),
    }, signal),
  ]);
}

async function cleanUp(deps: GrantDeps, name: string, signal: AbortSignal): Promise<Outcome> {
  const { remakes, revoking } = deps;
  remakes.delete(name);
  if (await cleanUpVanished(deps, name, signal)) {
    revoking.delete(name);
    return done;
  }
  const looks = revoking.get(name) ?? 0;
  revoking.set(name, looks + 1);
  return requeueAfter(backoffStep(looks, LEFT_LOOKS));
}

async function revoke(deps: GrantDeps, grant: Grant, signal: AbortSignal): Promise<Outcome> {
  const { kube, revoking, remakes, recordEvent, log } = deps;
  const { name } = grant.metadata;
  if (!hasFinalizer(grant, CLEANUP_FINALIZER)) return done;
  const { held, heartbeats } = await revokeGrant(kube, grant, signal);
  const looks = (revoking.get(name) ?? 0) + 1;
  const left = [...held, ...heartbeats];
  // Heartbeats give no rights, so the Grant goes without them in the end: a re-bind waits for that.
  if (held.length > 0 || heartbeats.length > 0 && looks < HEARTBEAT_LOOKS) {
    revoking.set(name, looks);
    await settle(deps, grant, leftBehind(left), signal);
    return requeueAfter(backoffStep(looks - 1, LEFT_LOOKS));
  }
  await removeFinalizer(kube, grant, signal);
  revoking.delete(name);
  remakes.delete(name);
  const fields = { ...about(grant), ...(left.length > 0 ? { left: fewOf(left) } : {}) };
  log.info("Grant revoked", auditLine("grant.revoked", "ok", fields));
  recordEvent(grant, "Normal", "Revoked", "Its rights and its credentials are gone");
  if (left.length > 0) recordEvent(grant, "Warning", "LeftBehind", leftBehind(left).message);
  return done;
}

async function withFinalizer(deps: GrantDeps, grant: Grant, signal: AbortSignal): Promise<Grant> {
  if (hasFinalizer(grant, CLEANUP_FINALIZER)) return grant;
  const { name, resourceVersion = "", finalizers = [] } = grant.metadata;
  const patch = { metadata: { resourceVersion, finalizers: [...finalizers, CLEANUP_FINALIZER] } };
  const patched = await deps.kube
    .mergePatch(GRANTS, { name }, patch, FIELD_MANAGERS.issuer, signal);
  deps.caches.grants.learn(patched, FIELD_MANAGERS.issuer);
  return patched;
}

/** Writes the readiness when it is news, and tells people. */
async function settle(
  { kube, caches, recordEvent, log, now }: GrantDeps,
  grant: Grant,
  readiness: Readiness,
  signal: AbortSignal,
): Promise<void> {
  const update = statusUpdate(grant, readiness, new Date(now()));
  if (!update) return;
  const before = condition(grant, "Ready");
  const hadRelated = condition(grant, RELATED_NOT_EXPORTED)?.message;
  const written = await kube.applyStatus(GRANTS, update, FIELD_MANAGERS.issuer, signal);
  caches.grants.learn(written, FIELD_MANAGERS.issuer);
  const related = condition(update, RELATED_NOT_EXPORTED);
  if (related && related.message !== hadRelated) {
    const fields = { message: related.message, ...about(grant) };
    const line = auditLine("grant.not-provisioned", related.type, fields);
    log.warn("Grant asks for more than its Export offers", line);
    recordEvent(grant, "Warning", related.type, related.message);
  }
  if (readiness.ready) {
    if (before?.status === "True") return;
    log.info("Grant provisioned", auditLine("grant.provisioned", "ok", about(grant)));
    recordEvent(grant, "Normal", "Provisioned", readiness.message);
  } else if (readiness.reason !== "Pending" && before?.message !== readiness.message) {
    const fields = { message: readiness.message, ...about(grant) };
    if (isDeleting(grant)) {
      log.warn("Grant not revoked", auditLine("grant.not-revoked", readiness.reason, fields));
    } else {
      const line = auditLine("grant.not-provisioned", readiness.reason, fields);
      log.warn("Grant not provisioned", line);
    }
    recordEvent(grant, "Warning", readiness.reason, readiness.message);
  }
}

const about = ({ metadata, spec }: Grant) => ({
  grant: metadata.name,
  subject: spec.identity.subject,
  export: spec.exportName,
});

/** Whether a bind is waiting for this Grant right now. */
export const isUrgent = (grant: Grant, nowMs: number): boolean =>
  Date.parse(grant.metadata.annotations?.[ANNOTATIONS.wantedUntil] ?? "") > nowMs;

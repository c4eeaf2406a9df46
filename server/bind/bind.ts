import {
  EXPORTS,
  type Grant,
  GRANTS,
  isDeleting,
  isReady,
  isReadyFor,
  type ObjectMeta,
} from "../../common/api/resources.ts";
import type { BindResult, Identity } from "../../common/api/wire.ts";
import { providerFailed } from "../../common/errors.ts";
import { exportNotFound, exportNotReady, grantNotReady } from "../errors.ts";
import { isConflict, isNotFound, KubeError } from "../../common/kube/kube_error.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { keepBoundary } from "../provider/keep_boundary.ts";
import {
  ANNOTATIONS,
  boundaryName,
  FIELD_MANAGERS,
  grantName,
  isDnsSubdomain,
} from "../../common/api/names.ts";
import { deadline } from "../../common/time/deadline.ts";
import { Slots } from "../../common/time/slots.ts";
import { ensureGrant, type EnsureGrantDeps } from "./ensure_grant.ts";
import { grantFor } from "./grant.ts";
import {
  hasFreshPickup,
  issuePickup,
  type IssuePickupDeps,
  newPickup,
  type Pickup,
} from "./pickup.ts";
import { plainReason } from "./plain_reason.ts";
import { boundNow, stampBound } from "./stamp_bound.ts";

/** How long a bind may wait, for its turn and then for the issuer. */
export const ISSUER_WAIT_MS = 30_000;

/** What provisioning a Grant needs. */
export interface ProvisionDeps extends EnsureGrantDeps {
  readonly now: () => Date;
  /** For tests; otherwise `ISSUER_WAIT_MS`. */
  readonly issuerWaitMs?: number;
  /** Who takes turns with whom; otherwise all binds of this process. */
  readonly turns?: Slots;
}

/** What a bind needs. */
export interface BindDeps extends ProvisionDeps, IssuePickupDeps {
  readonly caches: ProvisionDeps["caches"];
  /** By subject. */
  readonly slots: Slots;
}

interface Wait {
  /** Aborts with the error that tells of a slow issuer. */
  readonly issuer: AbortSignal;
  /** Aborts when the caller is gone. */
  readonly caller: AbortSignal;
  /** When the issuer's time is up, RFC 3339. */
  readonly until: string;
}

/** Writers of one Grant take turns here, instead of meeting in conflicts on the API server. */
const ALL_TURNS = new Slots(1);

/**
 * Provides the identity with a Ready Grant of the Export, as the Export is at this moment. The
 * Grant counts as bound now, and keeps the pickup that it may have.
 */
export async function provisionGrant(
  deps: ProvisionDeps,
  identity: Identity,
  exportName: string,
  signal: AbortSignal,
): Promise<Grant> {
  const atOnce = () => undefined; // an apply has taken its place before
  return await provisioning(deps, identity, exportName, signal, atOnce, async (desired, wait) => {
    const { name } = desired.metadata;
    const boundAt = deps.now().toISOString();
    const stamped = { ...desired, metadata: { name, annotations: boundNow(boundAt) } };
    return await settled(
      deps,
      stamped,
      (grant) => stampBound(deps, grant, boundAt, wait.caller),
      wait,
    );
  });
}

/**
 * Provides a Ready Grant and issues a pickup for it, which ends any earlier one. Before it asks the
 * provider anything it waits for a place among the binds of this identity.
 */
export async function bindExport(
  deps: BindDeps,
  identity: Identity,
  exportName: string,
  signal: AbortSignal,
): Promise<BindResult> {
  const enter = (turn: AbortSignal) => deps.slots.enter(identity.subject, turn);
  return await provisioning(deps, identity, exportName, signal, enter, async (desired, wait) => {
    const { name } = desired.metadata;
    const first = newPickup(deps, name);
    const withPickup = { ...desired, metadata: { name, annotations: first.annotations } };
    const { token, expiresAt } = await settled(
      deps,
      withPickup,
      (grant) => pickupFor(deps, grant, first, wait),
      wait,
    );
    return { grant: name, pickupURL: `/api/bundle/${token}`, expiresAt };
  });
}

/** A last write to the Grant once it is Ready; a cache that was wrong shows then. */
async function settled<T>(
  deps: ProvisionDeps,
  desired: Grant,
  write: (grant: Grant) => Promise<T>,
  wait: Wait,
): Promise<T> {
  const { name } = desired.metadata;
  const { turns = ALL_TURNS } = deps;
  for (let look = cached(deps);; look = live(deps)) {
    const grant = await readyGrant(deps, desired, look, wait);
    using _turn = await turns.enter(name, wait.caller);
    const done = await onSame(deps, grant, write, wait);
    if (done) return done.value;
  }
}

async function provisioning<T>(
  { kube, now, issuerWaitMs = ISSUER_WAIT_MS }: ProvisionDeps,
  identity: Identity,
  exportName: string,
  caller: AbortSignal,
  enter: (turn: AbortSignal) => Promise<Disposable> | undefined,
  work: (desired: Grant, wait: Wait) => Promise<T>,
): Promise<T> {
  const until = new Date(now().getTime() + issuerWaitMs).toISOString();
  const tooLate = () => grantNotReady(grantName(exportName, identity.subject));
  using limit = deadline(issuerWaitMs, caller, tooLate);
  using _place = await enter(limit.signal);
  try {
    const desired = await desiredGrant(kube, identity, exportName, caller);
    return await work(desired, { issuer: limit.signal, caller, until });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    throw providerFailed(`bind Export "${exportName}"`, plainReason(error), error);
  }
}

/** Read live, so that neither a refusal nor the Grant's content rests on an old view. */
async function desiredGrant(
  kube: KubeClient,
  identity: Identity,
  exportName: string,
  signal: AbortSignal,
): Promise<Grant> {
  if (!isDnsSubdomain(exportName)) throw exportNotFound(exportName.slice(0, 253));
  const found = await kube.find(EXPORTS, { name: exportName }, signal);
  if (!found) throw exportNotFound(exportName);
  if (isDeleting(found) || !isReady(found)) throw exportNotReady(exportName);
  return grantFor(identity, found);
}

/** A way to see the Grant as it is stored. */
type Look = (name: string, signal: AbortSignal) => Promise<Grant | undefined>;

const cached = ({ caches }: ProvisionDeps): Look => (name) =>
  Promise.resolve(caches.grants.get({ name }));
const live = ({ kube }: ProvisionDeps): Look => (name, signal) =>
  kube.find(GRANTS, { name }, signal);

/** The cache may show what is no longer so: whoever finds that looks live from then on. */
async function readyGrant(
  deps: ProvisionDeps,
  desired: Grant,
  firstLook: Look,
  wait: Wait,
): Promise<Grant> {
  const { metadata: { name }, spec } = desired;
  const { turns = ALL_TURNS } = deps;
  const ensuredInTurn = async (look: Look) => {
    using _turn = await turns.enter(name, wait.issuer);
    const known = await look(name, wait.issuer);
    return await ensureGrant(deps, desired, known, wait.until, wait.issuer);
  };
  for (let look = firstLook;; look = live(deps)) {
    const grant = await ensuredInTurn(look);
    if (isReady(grant)) {
      const boundary = boundaryName(spec.identity.subject);
      await keepBoundary(deps.kube, boundary, FIELD_MANAGERS.gateway, wait.issuer);
      return grant;
    }
    const ready = await becomeReady(deps, grant, wait); // for which the issuer keeps the boundary
    if (ready) return ready;
  }
}

/** Waits for the issuer; undefined when the Grant is not the one that was seen any more. */
async function becomeReady(
  deps: ProvisionDeps,
  seen: Grant,
  wait: Wait,
): Promise<Grant | undefined> {
  const { kube, caches: { grants } } = deps;
  const { name } = seen.metadata;
  const grant = await askForPriority(deps, seen, wait);
  const isStill = isSameAndReady(grant);
  const isSettled = (current: Grant) =>
    !isOlder(current.metadata, grant.metadata) &&
    (current.metadata.uid !== grant.metadata.uid || isDeleting(current) || isStill(current));
  try {
    const settled = await grants.waitFor({ name }, isSettled, wait.issuer);
    return isStill(settled) ? settled : undefined;
  } catch (error) {
    wait.caller.throwIfAborted();
    const current = await kube.find(GRANTS, { name }, wait.caller);
    if (current && isStill(current)) return current;
    throw error;
  }
}

/** Says on the Grant that somebody waits for it, unless it says so; the issuer takes it first. */
async function askForPriority(
  { kube, caches: { grants }, now }: ProvisionDeps,
  grant: Grant,
  wait: Wait,
): Promise<Grant> {
  const { name, uid, resourceVersion = "", annotations } = grant.metadata;
  const wantedUntil = Date.parse(annotations?.[ANNOTATIONS.wantedUntil] ?? "");
  if (wantedUntil > now().getTime()) return grant;
  const patch = {
    metadata: { resourceVersion, uid, annotations: { [ANNOTATIONS.wantedUntil]: wait.until } },
  };
  try {
    const written = await kube.mergePatch(
      GRANTS,
      { name },
      patch,
      FIELD_MANAGERS.gateway,
      wait.issuer,
    );
    grants.learn(written, FIELD_MANAGERS.gateway);
    return written;
  } catch (error) {
    // Whoever changed it is most likely the issuer, at work on it already.
    if (isConflict(error) || isNotFound(error)) return grant;
    throw error;
  }
}

/**
 * Writes to the Grant that was seen Ready, again and again while others write to it too;
 * undefined when that Grant is gone or changed.
 */
async function onSame<T>(
  { kube, caches: { grants } }: ProvisionDeps,
  seen: Grant,
  write: (grant: Grant) => Promise<T>,
  wait: Wait,
): Promise<{ readonly value: T } | undefined> {
  const { name } = seen.metadata;
  const isStill = isSameAndReady(seen);
  let current: Grant | undefined = newest(seen, grants.get({ name }));
  while (current && isStill(current)) {
    try {
      return { value: await write(current) };
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
    wait.issuer.throwIfAborted();
    current = await kube.find(GRANTS, { name }, wait.issuer);
  }
  return undefined;
}

/** The pickup that the Grant was made with, or else a new one on this version of it. */
const pickupFor = async (
  deps: BindDeps,
  grant: Grant,
  first: Pickup,
  wait: Wait,
): Promise<Pickup> =>
  hasFreshPickup(deps, grant, first) ? first : await issuePickup(deps, grant, wait.caller);

const isSameAndReady = ({ metadata: { uid, generation = 0 } }: Grant) => (grant: Grant): boolean =>
  grant.metadata.uid === uid && !isDeleting(grant) && isReadyFor(generation)(grant);

const isOlder = (a: ObjectMeta, b: ObjectMeta): boolean =>
  BigInt(a.resourceVersion ?? "0") < BigInt(b.resourceVersion ?? "0");

const newest = (a: Grant, b: Grant | undefined): Grant =>
  b && isOlder(a.metadata, b.metadata) ? b : a;

import {
  type Export,
  EXPORTS,
  type Grant,
  GRANTS,
  isDeleting,
  isReady,
  isReadyFor,
} from "../../common/api/resources.ts";
import type { BindResult, Identity } from "../../common/api/wire.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { Config } from "../config.ts";
import { providerFailed } from "../../common/errors.ts";
import { exportNotFound, exportNotReady, grantNotReady } from "../errors.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import {
  isAlreadyExists,
  isConflict,
  isNotFound,
  KubeError,
} from "../../common/kube/kube_error.ts";
import { FIELD_MANAGERS, grantName, isDnsSubdomain } from "../../common/api/names.ts";
import { Backoff } from "../../common/time/backoff.ts";
import { deadline } from "../../common/time/deadline.ts";
import { sleep } from "../../common/time/wait.ts";
import { Slots } from "../../common/time/slots.ts";
import {
  expiryOn,
  type GrantEdit,
  grantEdit,
  grantFor,
  grantToCreate,
  hasStamp,
  isSameRight,
  stampEdit,
  stampFor,
} from "./grant.ts";
import { newPickup, type Pickup } from "./pickup.ts";
import { plainReason } from "./plain_reason.ts";

/** How long a bind may wait, for its slot and then for the issuer. */
const ISSUER_WAIT_MS = 30_000;

/** What a Grant is bound with. */
export interface BoundGrantDeps {
  readonly kube: KubeClient;
  readonly caches: {
    readonly grants: Pick<Cache<Grant>, "get" | "learn" | "waitFor" | "waitForAbsence">;
  };
  readonly now: () => Date;
  /** Present with `--authorization=Kubernetes`. */
  readonly authorizer?: Pick<Authorizer, "checkBind"> | undefined;
  /** For tests; otherwise `ISSUER_WAIT_MS`. */
  readonly issuerWaitMs?: number;
  /** By Grant; otherwise all binds of this process share one. */
  readonly turns?: Slots;
}

/** What a bind needs. */
export interface BindDeps extends BoundGrantDeps {
  readonly config: Pick<Config, "pickupTtlMs">;
  /** By subject. */
  readonly slots: Slots;
}

/** What a bind does besides binding the Grant. */
export interface BindOptions {
  /** Goes onto the Grant, and ends any earlier pickup; without it the Grant keeps its own. */
  readonly pickup?: Pickup;
  /** By subject; the bind takes one before it asks the provider anything. */
  readonly slots?: Slots;
}

interface Wait {
  /** Aborts with the error that names the slow issuer. */
  readonly issuer: AbortSignal;
  /** Aborts when the caller is gone. */
  readonly caller: AbortSignal;
  /** When the issuer's time is up. */
  readonly until: Date;
}

/** The Grant was replaced, or is being deleted: look again. */
class MovedOn extends Error {}

/** One bind at a time works on a Grant, so that binds of this process never conflict. */
const ALL_TURNS = new Slots(1);
const RETRY = { baseMs: 10, capMs: 500 };

/** Provides the identity with a Ready Grant of the Export, and with a pickup for its bundle. */
export async function bindExport(
  deps: BindDeps,
  identity: Identity,
  exportName: string,
  caller: AbortSignal,
): Promise<BindResult> {
  const { config, slots } = deps;
  const pickup = newPickup(grantName(exportName, identity.subject), config.pickupTtlMs);
  const grant = await boundGrant(deps, identity, exportName, caller, { pickup, slots });
  const pickupURL = `/api/bundle/${pickup.token}`;
  return { grant: grant.metadata.name, pickupURL, expiresAt: expiryOn(grant) };
}

/**
 * Returns the identity's Grant of the Export, as the Export is now: Ready, and with the stamp of
 * this bind.
 */
export async function boundGrant(
  deps: BoundGrantDeps,
  identity: Identity,
  exportName: string,
  caller: AbortSignal,
  { pickup, slots }: BindOptions = {},
): Promise<Grant> {
  const { kube, now, issuerWaitMs = ISSUER_WAIT_MS, turns = ALL_TURNS } = deps;
  const name = grantName(exportName, identity.subject);
  const until = new Date(now().getTime() + issuerWaitMs);
  using limit = deadline(issuerWaitMs, caller, () => grantNotReady(name));
  using _slot = await slots?.enter(identity.subject, limit.signal);
  if (!isDnsSubdomain(exportName)) throw exportNotFound(exportName.slice(0, 253));
  await deps.authorizer?.checkBind(identity, exportName, caller);
  try {
    const wanted = grantFor(identity, await readyExport(kube, exportName, caller));
    using _turn = await turns.enter(name, limit.signal);
    return await writtenAndReady(deps, wanted, pickup, { issuer: limit.signal, caller, until });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    throw providerFailed(`bind Export "${exportName}"`, plainReason(error), error);
  }
}

/** Reads live: neither a refusal nor the content of the Grant may come from a stale cache. */
async function readyExport(
  kube: KubeClient,
  exportName: string,
  caller: AbortSignal,
): Promise<Export> {
  const found = await kube.find(EXPORTS, { name: exportName }, caller);
  if (!found) throw exportNotFound(exportName);
  if (isDeleting(found) || !isReady(found)) throw exportNotReady(exportName);
  return found;
}

/** Writes the Grant, waits until it is Ready and stamps it; starts over if others change it. */
async function writtenAndReady(
  deps: BoundGrantDeps,
  wanted: Grant,
  pickup: Pickup | undefined,
  wait: Wait,
): Promise<Grant> {
  const { caches: { grants }, now } = deps;
  const { name } = wanted.metadata;
  const backoff = new Backoff(RETRY);
  for (let isFirst = true;; isFirst = false) {
    try {
      // The cache is trusted only if it has no Grant: the create fails if there is one.
      const isAbsent = isFirst && !grants.get({ name });
      const stored = isAbsent ? undefined : await storedGrant(deps, name, wait.issuer);
      const stamp = stampFor(pickup, now());
      const written = stored
        ? await updated(deps, stored, wanted, wait)
        : await created(deps, grantToCreate(wanted, stamp, wait.until), wait);
      const ready = await untilReady(deps, written, wait);
      if (hasStamp(ready, stamp, now())) return ready; // created with it, a moment ago
      return await patched(deps, ready, stampEdit(stampFor(pickup, now())), wait.caller);
    } catch (error) {
      if (!hasMovedOn(error)) throw error;
      // The first miss is a stale cache or one other writer; more are a crowd.
      if (!isFirst) await sleep(backoff.next(), wait.issuer);
    }
  }
}

const hasMovedOn = (error: unknown): boolean =>
  error instanceof MovedOn || isConflict(error) || isNotFound(error) || isAlreadyExists(error);

/** Reads the Grant live; waits until one that is being deleted is gone. */
async function storedGrant(
  { kube, caches: { grants } }: BoundGrantDeps,
  name: string,
  signal: AbortSignal,
): Promise<Grant | undefined> {
  const stored = await kube.find(GRANTS, { name }, signal);
  if (!stored || !isDeleting(stored)) return stored;
  await grants.waitForAbsence({ name }, stored.metadata.uid, signal);
  return undefined;
}

/** Makes the stored Grant what is wanted, and asks for priority unless it is Ready. */
async function updated(
  deps: BoundGrantDeps,
  stored: Grant,
  wanted: Grant,
  wait: Wait,
): Promise<Grant> {
  if (!isSameRight(stored, wanted)) {
    throw providerFailed(
      `bind Export "${wanted.spec.exportName}"`,
      `Grant "${wanted.metadata.name}" belongs to another identity or Export`,
    );
  }
  const edit = grantEdit(stored, wanted, wait.until, deps.now());
  return edit ? await patched(deps, stored, edit, wait.issuer) : stored;
}

const created = ({ kube }: BoundGrantDeps, grant: Grant, { issuer }: Wait): Promise<Grant> =>
  kube.create(GRANTS, grant, FIELD_MANAGERS.gateway, issuer);

/** Patches this version of the Grant; rejects with a conflict if there is another by now. */
async function patched(
  { kube, caches: { grants } }: BoundGrantDeps,
  { metadata: { name, uid, resourceVersion = "" } }: Grant,
  { annotations, ...spec }: GrantEdit,
  signal: AbortSignal,
): Promise<Grant> {
  const patch = { metadata: { uid, resourceVersion, annotations }, ...spec };
  const written = await kube.mergePatch(GRANTS, { name }, patch, FIELD_MANAGERS.gateway, signal);
  grants.learn(written, FIELD_MANAGERS.gateway);
  return written;
}

/** Waits until the issuer has made this generation of the Grant Ready. */
async function untilReady(deps: BoundGrantDeps, seen: Grant, wait: Wait): Promise<Grant> {
  const { name, uid, generation = 0 } = seen.metadata;
  const { grants } = deps.caches;
  const hasMoved = (grant: Grant) => grant.metadata.uid !== uid || isDeleting(grant);
  const isSettled = (grant: Grant) => hasMoved(grant) || isReadyFor(generation)(grant);
  if (!isSettled(seen)) grants.learn(seen, FIELD_MANAGERS.gateway); // the cache may be older
  const lastLook = async (late: unknown) => {
    wait.caller.throwIfAborted();
    const current = await deps.kube.find(GRANTS, { name }, wait.caller);
    if (!current || !isSettled(current)) throw late;
    return current;
  };
  const grant = isSettled(seen)
    ? seen
    : await grants.waitFor({ name }, isSettled, wait.issuer).catch(lastLook);
  if (hasMoved(grant)) throw new MovedOn();
  return grant;
}

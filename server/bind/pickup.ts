import { randomBytes } from "node:crypto";
import { type Grant, GRANTS, isDeleting } from "../../common/api/resources.ts";
import type { Config } from "../config.ts";
import { providerFailed } from "../../common/errors.ts";
import { pickupGone } from "../errors.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isConflict, isNotFound, KubeError } from "../../common/kube/kube_error.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../common/api/names.ts";
import {
  formatPickupToken,
  matchesPickupHash,
  parsePickupToken,
  PICKUP_SECRET_BYTES,
  pickupHash,
  type PickupToken,
} from "./pickup_token.ts";
import { plainReason } from "./plain_reason.ts";

/** What making a pickup needs. */
export interface NewPickupDeps {
  readonly config: Pick<Config, "pickupTtlMs">;
  readonly now: () => Date;
  readonly randomBytes?: (size: number) => Uint8Array;
}

/** What issuing a pickup needs. */
export interface IssuePickupDeps extends NewPickupDeps {
  readonly kube: KubeClient;
  readonly caches: { readonly grants: Pick<Cache<Grant>, "learn"> };
}

/** A pickup; it works once a Grant has its annotations. */
export interface Pickup {
  readonly token: string;
  /** RFC 3339. */
  readonly expiresAt: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** How much of its life a pickup may have lost before anybody gets it: 5 s of 5 min. */
const LOST_LIFE = 1 / 60;

/** A new pickup for the Grant of this name. */
export function newPickup(
  { config, now, randomBytes: random = randomBytes }: NewPickupDeps,
  grantName: string,
): Pickup {
  const token = formatPickupToken(grantName, random(PICKUP_SECRET_BYTES));
  const boundAt = now();
  const expiresAt = new Date(boundAt.getTime() + config.pickupTtlMs).toISOString();
  const annotations = {
    [ANNOTATIONS.pickupSha256]: pickupHash(token.slice(token.indexOf(".") + 1)),
    [ANNOTATIONS.pickupExpiry]: expiresAt,
    [ANNOTATIONS.boundAt]: boundAt.toISOString(),
  };
  return { token, expiresAt, annotations };
}

/** Whether the Grant has this pickup, and nearly all of the pickup's life is ahead. */
export function hasFreshPickup(
  { config: { pickupTtlMs }, now }: NewPickupDeps,
  { metadata }: Grant,
  { annotations, expiresAt }: Pickup,
): boolean {
  const hash = annotations[ANNOTATIONS.pickupSha256];
  const lostMs = pickupTtlMs - (Date.parse(expiresAt) - now().getTime());
  return metadata.annotations?.[ANNOTATIONS.pickupSha256] === hash &&
    lostMs <= pickupTtlMs * LOST_LIFE;
}

/**
 * Gives this very version of a Grant a new pickup, which ends any earlier one. Rejects with a
 * conflict when the Grant has moved on.
 */
export async function issuePickup(
  deps: IssuePickupDeps,
  { metadata: { name, uid, resourceVersion = "" } }: Grant,
  signal: AbortSignal,
): Promise<Pickup> {
  const pickup = newPickup(deps, name);
  const annotations = {
    ...pickup.annotations,
    [ANNOTATIONS.pickupConsumed]: null,
    [ANNOTATIONS.wantedUntil]: null,
  };
  const patch = { metadata: { resourceVersion, uid, annotations } };
  const { gateway } = FIELD_MANAGERS;
  const written = await deps.kube.mergePatch(GRANTS, { name }, patch, gateway, signal);
  deps.caches.grants.learn(written, gateway);
  return pickup;
}

/** What a pickup says of itself, as far as nobody has to be asked for that. */
export interface PickupClaim {
  readonly grant: string;
  /** Whose it is, if the Grant as it was last seen takes the token. */
  readonly subject?: string;
}

/** What a claim is judged by. */
export interface PickupClaimDeps {
  readonly caches: { readonly grants: Pick<Cache<Grant>, "get"> };
  readonly now: () => Date;
}

/**
 * What is known of a token at once; undefined when it is malformed. A token that is spent, expired,
 * wrong or not seen yet has no subject, so that none of these can be told from another.
 */
export function pickupClaim(
  { caches, now }: PickupClaimDeps,
  token: string,
): PickupClaim | undefined {
  const parts = parsePickupToken(token);
  if (!parts) return undefined;
  const { grant: name } = parts;
  const seen = caches.grants.get({ name });
  const isGood = refusalOf(seen, parts, now()) === undefined;
  return seen && isGood ? { grant: name, subject: seen.spec.identity.subject } : { grant: name };
}

/** Why a pickup is refused; for the audit log only, callers get one answer for all. */
export type PickupRefusal = "malformed" | "unknown" | "deleting" | "expired" | "reused";

/** What consuming a pickup needs. */
export interface ConsumePickupDeps {
  readonly kube: KubeClient;
  readonly now: () => Date;
  /** Told why a pickup is refused; the Grant is known unless the token is malformed. */
  readonly onRefused?: (why: PickupRefusal, grant?: string) => void;
}

/**
 * Spends a pickup and returns its Grant. Of any number of callers with one token, on any number
 * of replicas, at most one gets the Grant.
 */
export async function consumePickup(
  deps: ConsumePickupDeps,
  token: string,
  signal: AbortSignal,
): Promise<Grant> {
  const parts = parsePickupToken(token);
  if (!parts) {
    deps.onRefused?.("malformed");
    throw pickupGone();
  }
  try {
    return await consume(deps, parts, signal);
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    throw providerFailed("pick up the bundle", `${plainReason(error)}; bind again`, error);
  }
}

async function consume(
  { kube, now, onRefused }: ConsumePickupDeps,
  token: PickupToken,
  signal: AbortSignal,
): Promise<Grant> {
  const key = { name: token.grant };
  for (;;) {
    // Live: another replica may have issued or spent it a moment ago.
    const grant = await kube.find(GRANTS, key, signal);
    const at = now();
    const refusal = refusalOf(grant, token, at);
    if (!grant || refusal) {
      onRefused?.(refusal ?? "unknown", token.grant);
      throw pickupGone();
    }
    const { resourceVersion = "", uid } = grant.metadata;
    const annotations = {
      [ANNOTATIONS.pickupConsumed]: at.toISOString(),
      [ANNOTATIONS.wantedUntil]: null,
    };
    const patch = { metadata: { resourceVersion, uid, annotations } };
    try {
      return await kube.mergePatch(GRANTS, key, patch, FIELD_MANAGERS.gateway, signal);
    } catch (error) {
      // Somebody was faster: perhaps with the same token, perhaps with a change of no concern.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
}

function refusalOf(
  grant: Grant | undefined,
  { secret }: PickupToken,
  at: Date,
): PickupRefusal | undefined {
  const annotations = grant?.metadata.annotations ?? {};
  if (!matchesPickupHash(secret, annotations[ANNOTATIONS.pickupSha256]) || !grant) return "unknown";
  if (isDeleting(grant)) return "deleting";
  if (annotations[ANNOTATIONS.pickupConsumed] !== undefined) return "reused";
  const expiry = Date.parse(annotations[ANNOTATIONS.pickupExpiry] ?? "");
  return expiry > at.getTime() ? undefined : "expired";
}

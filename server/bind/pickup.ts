import { Buffer } from "node:buffer";
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { type Grant, GRANTS, isDeleting } from "../../common/api/resources.ts";
import { providerFailed } from "../../common/errors.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import { pickupGone } from "../errors.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isConflict, isNotFound, KubeError } from "../../common/kube/kube_error.ts";
import { ANNOTATIONS, FIELD_MANAGERS, isDnsSubdomain } from "../../common/api/names.ts";
import { plainReason } from "./plain_reason.ts";

/** A pickup; it works once a Grant has its hash. */
export interface Pickup {
  /** Names the Grant and holds the secret; only the caller of the bind gets it. */
  readonly token: string;
  readonly hash: string;
  readonly ttlMs: number;
}

/** The two parts of a pickup token. */
export interface PickupToken {
  readonly grant: string;
  /** The secret part as text; the Grant keeps its hash. */
  readonly secret: string;
}

const SECRET_BYTES = 24;
const MAX_GRANT_LENGTH = 63;
const FORM = /^([A-Za-z0-9_-]{2,84})\.([A-Za-z0-9_-]{32})$/;

/** Draws a new pickup for the Grant of this name. */
export function newPickup(grantName: string, ttlMs: number): Pickup {
  const secret = randomBytes(SECRET_BYTES);
  const hash = pickupHash(secret.toString("base64url"));
  return { token: formatPickupToken(grantName, secret), hash, ttlMs };
}

/** Writes a token as text. */
export const formatPickupToken = (grant: string, secret: Uint8Array): string =>
  `${Buffer.from(grant).toString("base64url")}.${Buffer.from(secret).toString("base64url")}`;

/** Takes a token apart; undefined when `formatPickupToken` cannot have written it. */
export function parsePickupToken(token: string): PickupToken | undefined {
  const [, encoded, secret] = FORM.exec(token) ?? [];
  if (encoded === undefined || secret === undefined) return undefined;
  const bytes = Buffer.from(encoded, "base64url");
  const grant = bytes.toString("utf8");
  // Several texts decode to the same bytes; only one of them was given out.
  if (bytes.toString("base64url") !== encoded) return undefined;
  if (!isDnsSubdomain(grant) || grant.length > MAX_GRANT_LENGTH) return undefined;
  return { grant, secret };
}

/** Hashes the secret part of a token for the Grant. */
export const pickupHash = (secret: string): string =>
  createHash("sha256").update(secret).digest("hex");

/** Whether a secret part belongs to a stored hash; takes the same time for all guesses. */
export function matchesPickupHash(secret: string, stored: string | undefined): boolean {
  const expected = Buffer.from(stored ?? "");
  const actual = Buffer.from(pickupHash(secret));
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

/** What a token tells without a question to the provider. */
export interface PickupClaim {
  readonly grant: string;
  /** The identity of the Grant, if the cached Grant takes the token. */
  readonly subject?: string;
}

/** What a claim is judged by. */
export interface PickupClaimDeps {
  readonly caches: { readonly grants: Pick<Cache<Grant>, "get"> };
  readonly now: () => Date;
}

/**
 * Judges a token by the cache; undefined when it is malformed. A token that is spent, expired,
 * wrong or not in the cache yet has no subject, so that callers cannot tell these cases apart.
 */
export function pickupClaim(
  { caches, now }: PickupClaimDeps,
  token: string,
): PickupClaim | undefined {
  const parts = parsePickupToken(token);
  if (!parts) return undefined;
  const { grant: name } = parts;
  const cached = caches.grants.get({ name });
  const isGood = refusalOf(cached, parts, now()) === undefined;
  return cached && isGood
    ? { grant: name, subject: cached.spec.identity.subject }
    : { grant: name };
}

/** Why a pickup is refused; for the audit log only, callers get one answer for all. */
export type PickupRefusal = "malformed" | "unknown" | "deleting" | "expired" | "reused";

/** What consuming a pickup needs. */
export interface ConsumePickupDeps {
  readonly kube: KubeClient;
  readonly now: () => Date;
  /** Present with `--authorization=Kubernetes`. */
  readonly authorizer?: Pick<Authorizer, "checkPickup"> | undefined;
  /** Gets the reason of a refusal; the Grant is known unless the token is malformed. */
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
  { kube, now, authorizer, onRefused }: ConsumePickupDeps,
  token: PickupToken,
  signal: AbortSignal,
): Promise<Grant> {
  const key = { name: token.grant };
  for (;;) {
    // Read live: another replica may have issued or spent it a moment ago.
    const grant = await kube.find(GRANTS, key, signal);
    const at = now();
    const refusal = refusalOf(grant, token, at);
    if (!grant || refusal) {
      onRefused?.(refusal ?? "unknown", token.grant);
      throw pickupGone();
    }
    // The owner may have lost the permission since the bind. The pickup is not spent then.
    await authorizer?.checkPickup(grant.spec.identity, grant.spec.exportName, signal);
    const { resourceVersion = "", uid } = grant.metadata;
    const annotations = {
      [ANNOTATIONS.pickupConsumed]: at.toISOString(),
      [ANNOTATIONS.wantedUntil]: null,
    };
    const patch = { metadata: { resourceVersion, uid, annotations } };
    try {
      return await kube.mergePatch(GRANTS, key, patch, FIELD_MANAGERS.gateway, signal);
    } catch (error) {
      // Another writer was faster: perhaps with the same token, perhaps with an unrelated change.
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

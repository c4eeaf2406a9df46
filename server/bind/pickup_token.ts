import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { isDnsSubdomain } from "../../common/api/names.ts";

/** The two parts of a pickup token. */
export interface PickupToken {
  readonly grant: string;
  /** The secret part as text; its hash is what a Grant keeps. */
  readonly secret: string;
}

/** How many random bytes make the secret part. */
export const PICKUP_SECRET_BYTES = 24;

const MAX_GRANT_LENGTH = 63;
const FORM = /^([A-Za-z0-9_-]{2,84})\.([A-Za-z0-9_-]{32})$/;

/** The text of a new token. */
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

/** What a Grant keeps of a token's secret part. */
export const pickupHash = (secret: string): string =>
  createHash("sha256").update(secret).digest("hex");

/** Whether a secret part is the one behind a stored hash; takes the same time for all guesses. */
export function matchesPickupHash(secret: string, stored: string | undefined): boolean {
  const expected = Buffer.from(stored ?? "");
  const actual = Buffer.from(pickupHash(secret));
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

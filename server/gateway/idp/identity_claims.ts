import { unauthenticated } from "../../errors.ts";
import type { Identity } from "../../../common/api/wire.ts";

/** Which claims make the identity. */
export interface ClaimRules {
  /** As the flag has it: the subject begins with this very text. */
  readonly issuerUrl: string;
  readonly usernameClaim: string;
  /** Empty means no groups. */
  readonly groupsClaim: string;
}

type Claims = Readonly<Record<string, unknown>>;

const DISPLAY_CLAIMS = ["email", "name", "preferred_username"];

/** Who an ID token stands for. */
export interface ClaimedIdentity {
  readonly identity: Identity;
  /** How many groups were left out, as no group can be called so. */
  readonly droppedGroups: number;
}

/**
 * The identity that a verified ID token stands for. A user name that cannot be used is refused;
 * groups grant nothing, so those that cannot be used are left out.
 */
export const identityFromClaims = (rules: ClaimRules, claims: Claims): ClaimedIdentity => {
  const { issuerUrl, usernameClaim, groupsClaim } = rules;
  const username = claimOf(claims, usernameClaim);
  if (!isName(username)) {
    throw unauthenticated(`the ID token's claim "${usernameClaim}" is not a nonempty string`);
  }
  const verified = claimOf(claims, "email_verified");
  if (usernameClaim === "email" && (verified === false || verified === "false")) {
    throw unauthenticated("the identity provider has not verified the email address");
  }
  const claimed = groupsClaim === "" ? [] : listIn(claimOf(claims, groupsClaim));
  const groups = claimed.filter(isName);
  return {
    identity: {
      subject: `${issuerUrl}#${username}`,
      displayName: DISPLAY_CLAIMS.map((name) => claimOf(claims, name)).find(isName) ?? username,
      ...(groups.length > 0 ? { groups } : {}),
    },
    droppedGroups: claimed.length - groups.length,
  };
};

/** A single value counts as a list of one; some identity providers say "none" with an empty text. */
const listIn = (value: unknown): readonly unknown[] => {
  if (value === undefined || value === null || value === "") return [];
  return Array.isArray(value) ? value : [value];
};

/** Half a surrogate pair has no UTF-8 form: two such names would become one. */
const isName = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.isWellFormed();

const claimOf = (claims: Claims, name: string): unknown =>
  Object.hasOwn(claims, name) ? claims[name] : undefined;

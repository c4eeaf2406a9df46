import { unauthenticated } from "../../errors.ts";
import type { Identity } from "../../../common/api/wire.ts";

/** Which claims make up the identity. */
export interface ClaimRules {
  /** The unchanged text of the flag: subjects start with it. */
  readonly issuerUrl: string;
  readonly usernameClaim: string;
  /** Empty means no groups. */
  readonly groupsClaim: string;
}

type Claims = Readonly<Record<string, unknown>>;

const DISPLAY_CLAIMS = ["email", "name", "preferred_username"];

/** The identity of an ID token. */
export interface ClaimedIdentity {
  readonly identity: Identity;
  /** How many groups were left out because they are not nonempty strings. */
  readonly droppedGroups: number;
}

/**
 * Reads the identity from the claims of a verified ID token. Refuses an unusable user name. Leaves
 * out unusable groups, because fewer groups never mean more rights.
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

/** Takes a single value as a list of one, and an empty text, which some providers send, as none. */
const listIn = (value: unknown): readonly unknown[] => {
  if (value === undefined || value === null || value === "") return [];
  return Array.isArray(value) ? value : [value];
};

/** Half a surrogate pair has no UTF-8 form, so two different names would become the same. */
const isName = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.isWellFormed();

const claimOf = (claims: Claims, name: string): unknown =>
  Object.hasOwn(claims, name) ? claims[name] : undefined;

import { unauthenticated } from "../../errors.ts";
import type { Identity } from "./session.ts";

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

/** The identity that a verified ID token stands for; a claim that cannot be used is refused. */
export const identityFromClaims = (rules: ClaimRules, claims: Claims): Identity => {
  const { issuerUrl, usernameClaim, groupsClaim } = rules;
  const username = claimOf(claims, usernameClaim);
  if (!isName(username)) {
    throw unauthenticated(`the ID token's claim "${usernameClaim}" is not a nonempty string`);
  }
  const verified = claimOf(claims, "email_verified");
  if (usernameClaim === "email" && (verified === false || verified === "false")) {
    throw unauthenticated("the identity provider has not verified the email address");
  }
  const groups = groupsClaim === "" ? [] : groupsIn(claimOf(claims, groupsClaim), groupsClaim);
  return {
    subject: `${issuerUrl}#${username}`,
    displayName: DISPLAY_CLAIMS.map((name) => claimOf(claims, name)).find(isName) ?? username,
    ...(groups.length > 0 ? { groups } : {}),
  };
};

const groupsIn = (value: unknown, claim: string): readonly string[] => {
  if (value === undefined || value === null || value === "") return [];
  const groups: unknown[] = Array.isArray(value) ? value : [value];
  if (groups.every(isName)) return groups;
  throw unauthenticated(`the ID token's claim "${claim}" is not a string or a list of strings`);
};

/** Half a surrogate pair has no UTF-8 form: two such names would become one. */
const isName = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.isWellFormed();

const claimOf = (claims: Claims, name: string): unknown =>
  Object.hasOwn(claims, name) ? claims[name] : undefined;

import type { Identity } from "../../common/api/wire.ts";
import type { Config } from "../config.ts";

/** A user as Kubernetes' authorizers know one. */
export interface KubeUser extends TokenDetails {
  readonly user: string;
  readonly groups: readonly string[];
}

/** What a token review says about a user besides names. Authorizers other than RBAC may use it. */
export interface TokenDetails {
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Holds the details in an identity. JSON omits it, so no answer and no Grant has them. */
export const TOKEN_DETAILS = Symbol("details of a provider token");

/** An identity, with the details of its token if a token review made it. */
export type ReviewedIdentity = Identity & { readonly [TOKEN_DETAILS]?: TokenDetails };

/** Keeps the names of identities apart from those of Kubernetes. */
export type NamePrefixes = Pick<Config, "authorizationUserPrefix" | "authorizationGroupPrefix">;

/** The group of everybody who signed in at the identity provider. */
export const EVERYBODY = "xbind:authenticated";

/** The group of everybody who has credentials of the provider cluster. */
export const CLUSTER_USERS = "system:authenticated";

/** Only token reviews make such a subject. After a login it starts with a URL. */
const FROM_PROVIDER = "kubernetes#";

/**
 * Returns the user to ask about. An identity of a provider token has its own names. Any other gets
 * prefixed names, and none of them is one that Kubernetes reserves.
 */
export function kubeUserOf(prefixes: NamePrefixes, identity: ReviewedIdentity): KubeUser {
  const { subject, groups = [] } = identity;
  if (subject.startsWith(FROM_PROVIDER)) {
    return { user: subject.slice(FROM_PROVIDER.length), groups, ...identity[TOKEN_DETAILS] };
  }
  const { authorizationUserPrefix, authorizationGroupPrefix } = prefixes;
  const user = authorizationUserPrefix + subject;
  // The flags refuse such a prefix. This also guards any other way to configure one.
  if (isReservedName(user)) {
    throw new Error(`Cannot ask about ${user}: Kubernetes reserves the name`);
  }
  const named = groups.map((group) => authorizationGroupPrefix + group)
    .filter((group) => !isReservedName(group));
  return { user, groups: [...new Set([...named, EVERYBODY])] };
}

/** Returns a text that is equal only for users who are the same to every authorizer. */
export const userKey = ({ user, groups, uid = "", extra = {} }: KubeUser): string =>
  JSON.stringify([user, groups, uid, extra]);

/** Returns whether Kubernetes or kubeadm uses names that start like this. */
const isReservedName = (name: string): boolean => /^(?:system|kubeadm):/i.test(name);

import type { Identity } from "../../common/api/wire.ts";
import type { Config } from "../config.ts";

/** A user as Kubernetes' authorizers know one. */
export interface KubeUser {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Keeps the names of identities apart from those of Kubernetes. */
export type NamePrefixes = Pick<Config, "authorizationUserPrefix" | "authorizationGroupPrefix">;

/** The group of everybody who signed in at the identity provider. */
export const EVERYBODY = "xbind:authenticated";

/** The group of everybody who has credentials of the provider cluster. */
export const CLUSTER_USERS = "system:authenticated";

/** Only token reviews make such a subject: that of a login starts with the issuer's URL. */
const FROM_PROVIDER = "kubernetes#";

/**
 * Returns the user to ask about. An identity of a provider token has its own names. Any other gets
 * prefixed names, and none of them is one that Kubernetes reserves.
 */
export function kubeUserOf(prefixes: NamePrefixes, { subject, groups = [] }: Identity): KubeUser {
  if (subject.startsWith(FROM_PROVIDER)) {
    return { user: subject.slice(FROM_PROVIDER.length), groups };
  }
  const { authorizationUserPrefix, authorizationGroupPrefix } = prefixes;
  const user = authorizationUserPrefix + subject;
  // The flags refuse such a prefix. This holds for any other way to configure one.
  if (isReserved(user)) throw new Error(`Cannot ask about ${user}: Kubernetes reserves the name`);
  const named = groups.map((group) => authorizationGroupPrefix + group)
    .filter((group) => !isReserved(group));
  return { user, groups: [...new Set([...named, EVERYBODY])] };
}

const isReserved = (name: string): boolean => name.toLowerCase().startsWith("system:");

import { XbindError } from "../../../common/errors.ts";
import { isBoundaryName } from "../../../common/api/names.ts";

/** A ServiceAccount of a boundary. */
export interface BoundaryAccount {
  readonly namespace: string;
  /** The name of the ServiceAccount, or the user name that the provider maps it to. */
  readonly account: string;
}

/** The token was issued to a consumer. Signing in with it would create ever more identities. */
export class IssuedTokenError extends XbindError {
  override readonly name = "IssuedTokenError";

  constructor(readonly holder: BoundaryAccount) {
    super("UNAUTHENTICATED", "Cannot authenticate: a consumer's token does not sign in");
  }
}

const USERNAME = /^system:serviceaccount:([^:]*):(.*)$/s;
const GROUP_PREFIX = "system:serviceaccounts:";

/**
 * Returns the boundary account behind a reviewed user, if it is one. Also looks at the groups,
 * because the provider may map user names.
 */
export const boundaryAccountOf = (
  username: string,
  groups: readonly string[],
): BoundaryAccount | undefined => {
  const [, namespace = "", account = ""] = USERNAME.exec(username) ?? [];
  if (isBoundaryName(namespace)) return { namespace, account };
  const boundary = groups
    .filter((group) => group.startsWith(GROUP_PREFIX))
    .map((group) => group.slice(GROUP_PREFIX.length))
    .find(isBoundaryName);
  return boundary === undefined ? undefined : { namespace: boundary, account: username };
};

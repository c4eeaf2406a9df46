import { XbindError } from "../../../common/errors.ts";
import { isBoundaryName } from "../../../common/api/names.ts";

/** An account of a boundary, as the provider tells of it. */
export interface BoundaryAccount {
  readonly namespace: string;
  /** The ServiceAccount's name, or the user name that stands for it. */
  readonly account: string;
}

/** The token is one that consumers get; as a caller's it would bind ever more identities. */
export class IssuedTokenError extends XbindError {
  override readonly name = "IssuedTokenError";

  constructor(readonly holder: BoundaryAccount) {
    super("UNAUTHENTICATED", "Cannot authenticate: a consumer's token does not sign in");
  }
}

const USERNAME = /^system:serviceaccount:([^:]*):(.*)$/s;
const GROUP_PREFIX = "system:serviceaccounts:";

/**
 * The boundary that a reviewed user is an account of, if any. The groups tell it as well, in case
 * the provider maps user names.
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

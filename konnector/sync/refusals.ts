import { KubeError } from "../../common/kube/kube_error.ts";
import { UNSAFE_CHARACTERS } from "../../common/unsafe_characters.ts";

/** How a provider turned a write down. */
export type Refusal =
  /** The object of that name is not the expected one, or is missing. */
  | "otherObject"
  /** The namespace is missing, or the API is. */
  | "notFound"
  /** The namespace is being deleted. */
  | "namespaceTerminating"
  /** The account lacks the right. */
  | "forbidden"
  /** The content is refused: by its schema, by admission, or for its size. */
  | "rejected"
  /** The credential is not accepted. */
  | "unauthorized"
  /** It failed for a time, and the outcome may be unknown. */
  | "passing";

/** Says how a provider turned a write down; undefined for errors that are bugs of ours. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof KubeError)) return undefined;
  const { status, reason, message } = error;
  if (/too large|larger than max/i.test(message) || status === 413) return "rejected";
  if (status === 0 || status >= 500 || status === 429) return "passing";
  if (status === 401) return "unauthorized";
  if (status === 404) return "notFound";
  if (status === 409 && reason === "Conflict") return "otherObject";
  if (status === 422 && /metadata\.uid/.test(message)) return "otherObject";
  if (status === 403 && /because it is being terminated/.test(message)) {
    return "namespaceTerminating";
  }
  if (status === 403 && /User "[^"]*" cannot /.test(message)) return "forbidden";
  return "rejected";
}

/** Returns whether a JSON patch failed because the object changed, and not for its content. */
export const isStalePatch = (error: unknown): boolean =>
  error instanceof KubeError &&
  (error.status === 404 || error.status === 409 ||
    error.status === 422 && !/ is invalid: /.test(error.message));

/** Shortens an error to the reason that the API server gave. */
export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/^Cannot [^:]*: /, "");

const LONGEST_REASON = 400;

/** Returns the reason in a form for an annotation: one line of bounded length. */
export function shownReason(error: unknown): string {
  const line = reasonOf(error).replace(UNSAFE_CHARACTERS, " ").replace(/\s+/g, " ").trim();
  return line.length <= LONGEST_REASON ? line : `${line.slice(0, LONGEST_REASON - 1)}…`;
}

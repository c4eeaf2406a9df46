/** Who owns the object in the place of a copy. */
export type CopyOwner =
  /** This Connection, or one that no longer exists. */
  | "ours"
  /** Another Connection to the same provider, which keeps the same copy. */
  | "sibling"
  /** It has no marks of xbind. */
  | "unmarked"
  /** Another provider or another consumer. */
  | "another";

/** How a copy differs from its source. */
export type Difference =
  /** Not known: the source must be read. */
  | "unread"
  | "none"
  | "changed"
  /** Changed in a way that Kubernetes does not allow: it is immutable, or has another type. */
  | "fixed";

/** The object in the place of a copy, as far as the plan depends on it. */
export interface PlannedCopy {
  readonly owner: CopyOwner;
  readonly isDeleting: boolean;
  /** Whether its binding is paused, unbound with Orphan, or not known. */
  readonly isFrozen: boolean;
  readonly difference: Difference;
}

/** Everything that the next step for a copy depends on. */
export interface CopySituation {
  /** Whether a rule selects the source, and it may be copied. */
  readonly isWanted: boolean;
  /** Whether the source has been read. */
  readonly isRead: boolean;
  /** Whether the target cluster refused the source as it is. */
  readonly isRefused: boolean;
  readonly copy: PlannedCopy | undefined;
  /** Whether `copy` may be out of date, or something that no watch reports may be in its place. */
  readonly isUncertain: boolean;
}

/** The next step for one copy. */
export type CopyStep =
  | "none"
  | "wait"
  | "look"
  | "read"
  | "create"
  | "update"
  | "replace"
  | "delete";

/** Decides the next step for one copy. What is not ours is never changed. */
export function planCopy(
  { isWanted, isRead, isRefused, copy, isUncertain }: CopySituation,
): CopyStep {
  if (!isWanted) return isLeftover(copy) ? "delete" : "none";
  if (isUncertain) return "look";
  if (copy && copy.owner !== "ours") return "none";
  if (copy?.isDeleting) return "wait";
  if (isRefused || copy?.difference === "none") return "none";
  if (!isRead) return "read";
  if (!copy) return "create";
  return copy.difference === "fixed" ? "replace" : "update";
}

const isLeftover = (copy: PlannedCopy | undefined): boolean =>
  copy !== undefined && copy.owner === "ours" && !copy.isDeleting && !copy.isFrozen;

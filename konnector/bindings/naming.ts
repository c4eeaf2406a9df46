const MOST_NAMED = 10;

/** Names the first of some objects, and counts the others. */
function named(objects: readonly string[]): string {
  const more = objects.length > MOST_NAMED ? ` and ${objects.length - MOST_NAMED} more` : "";
  return `${objects.slice(0, MOST_NAMED).join(", ")}${more}`;
}

/** Says which copies stay on a provider that is lost. */
export const stayingNote = (
  objects: readonly string[],
  related: readonly string[] = [],
): string => {
  const copies = [...related, ...objects.length > 0 ? [named(objects)] : []];
  return `The provider could not be reached, so ${objects.length} objects were released without ` +
    `it. If it comes back, it still has the copies: ${copies.join(", ") || "none"}`;
};

/** Says which copies have no object, and what became of them. */
export const leftoversNote = (
  api: string,
  objects: readonly string[],
  areDeleted: boolean,
): string =>
  `The provider had ${objects.length} copies of ${api} that have no object on this cluster; they ` +
  `${areDeleted ? "were deleted" : "are left alone"}: ${named(objects)}`;

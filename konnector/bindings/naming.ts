import { fewOf } from "../../common/few_of.ts";

const MOST_NAMED = 10;

/** Says which copies stay on a provider that is lost. */
export const stayingNote = (
  objects: readonly string[],
  related: readonly string[] = [],
): string => {
  const copies = [...related, ...objects.length > 0 ? [fewOf(objects, MOST_NAMED)] : []];
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
  `${areDeleted ? "were deleted" : "are left alone"}: ${fewOf(objects, MOST_NAMED)}`;

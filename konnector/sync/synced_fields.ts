import { ANNOTATIONS } from "../../common/api/names.ts";
import type { ObjectMeta } from "../../common/api/resources.ts";
import { type Carried, carriedBy, type CarryRules } from "./carried.ts";
import { type Fields, IDENTITY_FIELDS } from "./fields.ts";
import { withoutPaths } from "./ignored_paths.ts";
import { type Wishes, wishesOf, withProblem } from "./wishes.ts";

/** What is synced of an object on the consumer. */
export interface SyncedFields {
  /** Everything but its identity, its status, and the fields that it wants ignored. */
  readonly content: Fields;
  readonly carried: Carried | undefined;
  readonly wishes: Wishes;
}

/** Reads what is synced of an object. */
export function syncedFields(item: unknown, rules: CarryRules): SyncedFields {
  const object = item as Fields & { readonly metadata: ObjectMeta };
  const entries = Object.entries(object).filter(([name]) => !IDENTITY_FIELDS.includes(name));
  const carried = carriedBy(rules, object.metadata);
  const wishes = wishesOf(object.metadata.annotations);
  const { content, problem } = withoutPaths(Object.fromEntries(entries), wishes.ignored);
  if (problem === undefined) return { content, carried, wishes };
  return { content, carried, wishes: withProblem(wishes, ANNOTATIONS.ignoredPaths, problem) };
}

/** Returns the part of a copy that has to be as the object wants it. */
export const expectedFields = ({ content, carried }: SyncedFields): Fields =>
  carried ? { metadata: carried, ...content } : content;

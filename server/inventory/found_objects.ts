import type { ApiObjects } from "./api_watch.ts";

/** The objects that a view shows, by API, resource or rule; undefined if they cannot be listed. */
export type FoundObjects<K> = ReadonlyMap<K, ApiObjects | undefined>;

/** Looks up the objects of all keys at the same time. */
export async function lookUp<K>(
  keys: Iterable<K>,
  find: (key: K) => Promise<ApiObjects | undefined>,
): Promise<FoundObjects<K>> {
  return new Map(await Promise.all([...keys].map(async (key) => [key, await find(key)] as const)));
}

/** Returns the version of the objects of each key. */
export const versions = (found: FoundObjects<unknown>): unknown[] =>
  [...found.values()].map((each) => each?.version);

/** Returns the objects that can be listed. */
export const present = (found: FoundObjects<unknown>): ApiObjects[] =>
  [...found.values()].filter((each) => each !== undefined);

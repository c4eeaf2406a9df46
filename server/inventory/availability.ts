import { providerFailed } from "../../common/errors.ts";
import { deadline } from "../../common/time/deadline.ts";

/** What tells whether a cache can be trusted; every `Cache` does. */
export interface CacheState {
  readonly hasSynced: boolean;
  /** For how long it has been cut off; undefined while its watch stands. */
  brokenForMs(): number | undefined;
}

/** A cache that can be waited for. */
export interface AwaitableCache extends CacheState {
  whenSynced(signal?: AbortSignal): Promise<void>;
}

/** How far a view is behind: not at all, or since the first of its caches was cut off. */
export type ViewAge = "current" | { readonly brokenForMs: number };

/** Whether a view can be shown; it cannot before the first lists, nor after a long outage. */
export type Availability =
  | { readonly kind: "shown"; readonly age: ViewAge }
  | { readonly kind: "unsynced" }
  | { readonly kind: "broken"; readonly brokenForMs: number };

/** How long a view without first lists is waited for. */
export const FIRST_SYNC_MS = 5_000;
/** How long a cut-off cache is shown. */
export const MAX_BROKEN_MS = 15_000;

/** The longest time that one of the caches has been cut off. */
export function viewAge(caches: Iterable<Pick<CacheState, "brokenForMs">>): ViewAge {
  let longest: number | undefined;
  for (const cache of caches) {
    const ms = cache.brokenForMs();
    if (ms !== undefined) longest = Math.max(longest ?? 0, ms);
  }
  return longest === undefined ? "current" : { brokenForMs: longest };
}

/** The whole seconds for the `Age` header; undefined for a current view. */
export const ageSeconds = (age: ViewAge): number | undefined =>
  age === "current" ? undefined : Math.floor(age.brokenForMs / 1_000);

/** What can be said of a view over these caches right now. */
export function availability(caches: readonly CacheState[]): Availability {
  if (!caches.every(({ hasSynced }) => hasSynced)) return { kind: "unsynced" };
  const age = viewAge(caches);
  return age !== "current" && age.brokenForMs > MAX_BROKEN_MS
    ? { kind: "broken", brokenForMs: age.brokenForMs }
    : { kind: "shown", age };
}

/** How old the view is, once it can be shown; fails when it cannot. `action` reads after "Cannot". */
export async function whenAvailable(
  action: string,
  caches: readonly AwaitableCache[],
  signal?: AbortSignal,
  firstSyncMs: number = FIRST_SYNC_MS,
): Promise<ViewAge> {
  if (!caches.every(({ hasSynced }) => hasSynced)) {
    const reason = providerFailed(action, "the provider cluster has not been read yet");
    using wait = deadline(firstSyncMs, signal, reason);
    for (const cache of caches) await cache.whenSynced(wait.signal);
  }
  const state = availability(caches);
  if (state.kind === "shown") return state.age;
  throw providerFailed(action, "the provider cluster cannot be reached");
}

import { providerFailed } from "../../common/errors.ts";
import { deadline } from "../../common/time/deadline.ts";

/** The part of a `Cache` that says whether it can be trusted. */
export interface CacheState {
  readonly hasSynced: boolean;
  /** Returns how long its watch has been broken; undefined while it works. */
  brokenForMs(): number | undefined;
}

/** A cache whose first sync can be awaited. */
export interface AwaitableCache extends CacheState {
  whenSynced(signal?: AbortSignal): Promise<void>;
}

/** How old a view is: current, or as old as the longest break of its caches. */
export type ViewAge = "current" | { readonly brokenForMs: number };

/** Whether a view can be shown. It cannot before the first lists, nor after a long outage. */
export type Availability =
  | { readonly kind: "shown"; readonly age: ViewAge }
  | { readonly kind: "unsynced" }
  | { readonly kind: "broken"; readonly brokenForMs: number };

/** How long a request waits for the first lists. */
export const FIRST_SYNC_MS = 5_000;
/** How long a broken cache is shown. */
export const MAX_BROKEN_MS = 15_000;

/** Returns the age of a view over these caches. */
export function viewAge(caches: Iterable<Pick<CacheState, "brokenForMs">>): ViewAge {
  let longest: number | undefined;
  for (const cache of caches) {
    const ms = cache.brokenForMs();
    if (ms !== undefined) longest = Math.max(longest ?? 0, ms);
  }
  return longest === undefined ? "current" : { brokenForMs: longest };
}

/** Returns the whole seconds for the `Age` header; undefined for a current view. */
export const ageSeconds = (age: ViewAge): number | undefined =>
  age === "current" ? undefined : Math.floor(age.brokenForMs / 1_000);

/** Returns whether a view over these caches can be shown now. */
export function availability(caches: readonly CacheState[]): Availability {
  if (!caches.every(({ hasSynced }) => hasSynced)) return { kind: "unsynced" };
  const age = viewAge(caches);
  return age !== "current" && age.brokenForMs > MAX_BROKEN_MS
    ? { kind: "broken", brokenForMs: age.brokenForMs }
    : { kind: "shown", age };
}

/** Waits until the view can be shown, and returns its age. `action` follows "Cannot" in errors. */
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

import { setImmediate } from "node:timers/promises";
import { errorChain } from "../../common/errors.ts";
import { keyText } from "../../common/kube/paths.ts";
import { every } from "../../common/time/every.ts";
import type { Runnable } from "../../common/time/runnable.ts";
import { cachedStep } from "./reconcile_object.ts";
import { isCertain, type SyncContext } from "./sync_context.ts";

/** Time between two checks of all records. */
export const LOOK_THROUGH_MS = 600_000;
/** How many records to check before other work gets a turn. */
const AT_ONCE = 500;

/**
 * Checks all records once per interval, and wakes the objects for which something is left to do.
 * Sends no request itself.
 */
export const lookThrough = (
  sync: SyncContext,
  wake: (key: string) => void,
  ms: number,
): Runnable =>
  every(ms, async (signal) => {
    if (!isCertain(sync)) return;
    let looked = 0;
    for (const { metadata } of sync.objects.values()) {
      const key = keyText(metadata);
      if (cachedStep(sync, key) !== "none") wake(key);
      if (++looked % AT_ONCE === 0) await setImmediate(undefined, { signal });
    }
  }, (error) => sync.log.warn("cannot look through the records", { error: errorChain(error) }));

import type { ObjectMeta } from "../../common/api/resources.ts";
import { errorChain } from "../../common/errors.ts";
import type { Log } from "../../common/log/log.ts";

/** Receives each object that cannot be read and is left out. */
export type LeaveOut = (
  object: { readonly kind: string; readonly metadata: ObjectMeta },
  error: unknown,
) => void;

const MAX_REMEMBERED = 1_000;

/** Logs each version of an object once, though every build of a view leaves it out. */
export function logLeftOut(log: Log): LeaveOut {
  const logged = new Set<string>();
  return ({ kind, metadata: { name, uid, resourceVersion } }, error) => {
    const key = `${kind} ${uid} ${resourceVersion}`;
    if (logged.has(key)) return;
    if (logged.size >= MAX_REMEMBERED) logged.clear();
    logged.add(key);
    log.warn("an object is left out of the inventory", { kind, name, error: errorChain(error) });
  };
}

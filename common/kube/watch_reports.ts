import { errorChain } from "../errors.ts";
import type { Log } from "../log/log.ts";
import type { CacheReports } from "./cache.ts";
import { KubeError } from "./kube_error.ts";

/** Logs the start and the end of each break of a watch, not the failed attempts in between. */
export function watchReports(log: Log, what: string): CacheReports {
  let isBroken = false;
  return {
    disconnected(error) {
      const detail = { what, error: errorChain(error) };
      // An API server that starts, or has just learned of a kind, answers 429 for a moment.
      if (error instanceof KubeError && error.status === 429) {
        return log.debug("a watch waits", detail);
      }
      if (!isBroken) log.warn("a watch broke", detail);
      isBroken = true;
    },
    connected() {
      if (isBroken) log.info("a watch stands again", { what });
      isBroken = false;
    },
    failed: (error) => log.error("an object was left out", { what, error }),
  };
}

import type { Grant } from "../../common/api/resources.ts";
import type { Heartbeat } from "../provider/heartbeats.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import { every } from "../../common/time/every.ts";
import type { Log } from "../../common/log/log.ts";
import type { Runnable } from "../../common/time/runnable.ts";

/** What `tellCrowdedBoundaries` works with. */
export interface CrowdedBoundariesDeps {
  readonly heartbeats: Pick<Cache<Heartbeat>, "crowded">;
  readonly grants: Pick<Cache<Grant, "boundary">, "find">;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
}

const LOOK_MS = 5_000;
const GRANTS_TOLD = 5;

/** Logs, and publishes an Event, once per boundary with more heartbeat Leases than are kept. */
export function tellCrowdedBoundaries(deps: CrowdedBoundariesDeps): Runnable {
  const { heartbeats, grants, recordEvent, log } = deps;
  let told = new Set<string>();
  const look = () => {
    const { crowded } = heartbeats;
    for (const { namespace, total } of crowded) {
      if (told.has(namespace)) continue;
      log.warn("a boundary is crowded with heartbeats", { boundary: namespace, leases: total });
      const note = `Namespace "${namespace}" holds more heartbeat Leases than are looked at: ` +
        "only the newest of each Connection count. Delete those that no konnector renews";
      for (const grant of [...grants.find("boundary", namespace)].slice(0, GRANTS_TOLD)) {
        recordEvent(grant, "Warning", "TooManyHeartbeats", note);
      }
    }
    told = new Set(crowded.map(({ namespace }) => namespace));
    return Promise.resolve();
  };
  return every(
    LOOK_MS,
    look,
    (error) => log.error("cannot look for crowded boundaries", { error }),
  );
}

import type { ShowController } from "../../common/control/controller_metrics.ts";
import type { CacheReports } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import type { Log } from "../../common/log/log.ts";
import type { Runnable } from "../../common/time/runnable.ts";
import { sleep } from "../../common/time/wait.ts";
import type { ConsumerCaches } from "../consumer_caches.ts";
import type { Apis, ApiState } from "./apis.ts";
import { followLeaving, ifAway, ifGone, type Judge } from "./leaving_objects.ts";

/** What pausing works with. */
export interface PauseDeps {
  readonly consumer: KubeClient;
  readonly caches: ConsumerCaches;
  readonly apis: Apis;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
  readonly metrics: { readonly controller: ShowController };
  readonly reportsOf: (what: string) => CacheReports;
}

/** If the provider answers within this time, the objects are not followed separately. */
const PATIENCE_MS = 5_000;
/** How often a provider gets this time again because its list makes progress. */
const MOST_WAITS = 12;

/** Stops the sync of an API. Objects that go meanwhile are released if they can be. */
export function pauseApi(deps: PauseDeps, api: string, state: ApiState): void {
  if (!deps.caches.crds.get({ name: api })) return deps.apis.pause(api, state);
  const run = state.isGone ? following(deps, api, ifGone) : patiently(whileAway(deps, api, state));
  const identity = JSON.stringify([state.isGone, state.reason, state.coverage.text]);
  deps.apis.pause(api, state, { identity, run });
}

/** Releases objects that leave their copies behind, and says why the others wait. */
export function whileAway(deps: PauseDeps, api: string, state: ApiState): Runnable {
  const reason = state.reason === "Pending" ? "ProviderUnreachable" : state.reason;
  const { of } = state.coverage;
  const coverageOf = (namespace: string) =>
    deps.apis.get(api)?.coverage.of(namespace) ?? of(namespace);
  return following(deps, api, ifAway(coverageOf, reason));
}

/** Runs something after 5 s without progress, or after a minute with it. */
export const patiently =
  (run: Runnable, progress: () => number = () => 0, wait = sleep): Runnable => async (signal) => {
    for (let waits = 0; waits < MOST_WAITS; waits++) {
      const before = progress();
      await wait(PATIENCE_MS, signal);
      if (progress() === before) break;
    }
    await run(signal);
  };

function following(deps: PauseDeps, api: string, judge: Judge): Runnable {
  const { log, reportsOf } = deps;
  const reports = reportsOf(`${api} on the consumer`);
  return followLeaving({ ...deps, log: log.with({ api }), reports }, api, judge);
}

import { isForbidden } from "../../common/kube/kube_error.ts";
import { all, childController, type Runnable } from "../../common/time/runnable.ts";
import { isCredentialRefused, type ProviderLink } from "../connections/provider_link.ts";
import { deniedRetryMs } from "../denied_retry.ts";
import { ApiSync } from "../sync/api_sync.ts";
import type { CarryRules } from "../sync/carried.ts";
import { LOOK_THROUGH_MS } from "../sync/look_through.ts";
import type { LeftoverRules } from "../sync/leftovers.ts";
import { reasonOf, refusalOf } from "../sync/refusals.ts";
import type { ApiState } from "./apis.ts";
import type { ApiCoverage } from "./coverage.ts";
import type { InstalledCrd } from "./install_api.ts";
import { leftoversNote } from "./naming.ts";
import { patiently, pauseApi, type PauseDeps, whileAway } from "./pause_api.ts";
import { type Reach, withinReach } from "./reach.ts";

/** What the syncs of APIs work with. */
export interface SyncDeps extends PauseDeps {
  /** Identity of the consumer cluster. */
  readonly clusterUid: string;
  /** Labels and annotations that are carried to copies. */
  readonly carry: CarryRules;
  readonly leftoverRules: LeftoverRules;
  readonly onSynced: (api: string, direction: "up" | "down", ms: number) => void;
}

/** Starts the sync, or tells a running one that its coverage changed. */
export function startSync(
  deps: SyncDeps,
  api: string,
  coverage: ApiCoverage,
  link: ProviderLink,
  { type, hash, problem }: InstalledCrd,
  providerHash: string,
  reach: Reach,
): void {
  const { apis, consumer, clusterUid, carry, leftoverRules, recordEvent, log, metrics } = deps;
  // Without the right to change it, the present CRD is used, as with the pull policy None.
  const isHealthy = problem === undefined || problem.reason === "Forbidden";
  const health = isHealthy ? { reason: "AsExpected", message: "" } : problem;
  const state: ApiState = {
    coverage,
    ...health,
    schemaFault: problem,
    crdHash: hash,
    providerHash,
    reach,
  };
  const identity = JSON.stringify([link.name, link.fingerprint, type, reach]);
  if (apis.adapt(api, identity, state)) return;
  const apiLog = log.with({ api });
  const owner = () => apis.get(api)?.coverage.owner ?? coverage.owner;
  const started = new ApiSync({
    type,
    connection: link.name,
    clusterUid,
    consumer,
    provider: link.kube,
    comparesVersions: () => link.comparesVersions,
    namespace: reach.kind === "one" ? reach.namespace : undefined,
    coverageOf: (namespace) => withinReach(apis.get(api), namespace),
    boundSince: () => owner().metadata.creationTimestamp ?? "",
    carry,
    leftoverRules,
    lookThroughMs: LOOK_THROUGH_MS,
    recordEvent,
    log: apiLog,
    metrics,
    reports: (side) => {
      const reports = deps.reportsOf(`${api} on the ${side}`);
      // A right to watch that is withdrawn shows when the watch is opened again.
      const disconnected = (error: unknown) => {
        reports.disconnected?.(error);
        if (side === "consumer") return isForbidden(error) && apis.lookLater(api, 0);
        if (isForbidden(error) || isCredentialRefused(error)) denied(deps, api, link, error);
      };
      return { ...reports, disconnected };
    },
    onSynced: (direction, ms) => deps.onSynced(api, direction, ms),
    onDenied: (error) => denied(deps, api, link, error),
    onLeftovers: (objects, areDeleted) => {
      apiLog.warn("copies without an object", { connection: link.name, objects, areDeleted });
      recordEvent(owner(), "Warning", "Leftovers", leftoversNote(api, objects, areDeleted));
    },
    onProgress: () => apis.progressed(api),
  });
  // A long list is no reason to list the consumer's objects twice.
  const late = patiently(whileAway(deps, api, unknown(state)), () => started.copiesRead);
  const beside = untilCopiesKnown(started, late);
  apis.start(api, state, { identity, sync: started, beside }, link.signal);
}

/** A provider whose copies cannot be listed counts as unreachable. */
const unknown = (state: ApiState): ApiState => ({ ...state, reason: "Pending" });

/** Runs something until the copies are known. */
const untilCopiesKnown = (sync: ApiSync, run: Runnable): Runnable => async (signal) => {
  using life = childController(signal);
  const known = sync.whenCopiesKnown(life.signal).then(() => life.abort());
  await all(run, () => known)(life.signal);
};

/** A right was withdrawn, or the credential: the API pauses until it is given back. */
function denied(deps: SyncDeps, api: string, link: ProviderLink, error: unknown): void {
  const { apis, log } = deps;
  if (refusalOf(error) === "unauthorized") return link.reject(error);
  const state = apis.get(api);
  if (!state || state.isDenied) return;
  log.warn("the provider refuses a right", { api, reason: reasonOf(error) });
  pauseApi(deps, api, {
    ...state,
    reason: "Forbidden",
    message: reasonOf(error),
    isDenied: true,
  });
  apis.lookLater(api, deniedRetryMs());
}

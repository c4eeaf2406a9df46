import { isDeleting } from "../../common/api/resources.ts";
import { done, type Outcome, requeueAfter } from "../../common/control/controller.ts";
import { isForbidden, isServerFailure } from "../../common/kube/kube_error.ts";
import { isCredentialRefused, type ProviderLink } from "../connections/provider_link.ts";
import { deniedRetryMs } from "../denied_retry.ts";
import { CrdRefusedError } from "../schema/consumer_crd.ts";
import { isPulled } from "../schema/install_crd.ts";
import { hashOf } from "../sync/records.ts";
import { reasonOf } from "../sync/refusals.ts";
import { missingOnConsumer } from "./missing_on_consumer.ts";
import { coverageNow, coverNow } from "./cover_now.ts";
import type { ApiCoverage } from "./coverage.ts";
import { installApi, isFault, neverPulled, usePaused } from "./install_api.ts";
import { reachOf } from "./reach.ts";
import { pauseApi } from "./pause_api.ts";
import { startSync, type SyncDeps } from "./start_sync.ts";
import { pullUnbound, type UnboundDeps } from "./unbound_apis.ts";

/** What the reconcile of an API works with. */
export interface ApiDeps extends SyncDeps, UnboundDeps {}

const REFUSED_RETRY_MS = 60_000;
const CRD_RETRY_MS = 1_000;
/** No event says that a credential may use more namespaces than before. */
const REACH_LOOK_MS = 300_000;
/** How soon to try again if the bindings changed meanwhile and no event came. */
const STALE_LOOK_MS = 100;
/** How soon to try again if all pulls of a provider are in use. */
const PULL_LOOK_MS = 100;

/** Starts, adapts or stops the sync of one API as its bindings and its Connection want it. */
export async function reconcileApi(
  deps: ApiDeps,
  api: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const { apis, links } = deps;
  const coverage = coverNow(deps, api);
  if (!coverage) {
    apis.stop(api);
    return await pullUnbound(deps, api, signal);
  }
  deps.unbound.forget(api);
  const link = links.get(coverage.connection);
  if (!link?.hasSynced) {
    pauseApi(deps, api, { coverage, reason: "Pending", message: "The Connection is not ready" });
    return done;
  }
  if (link.awayMs() !== undefined) {
    const paused = apis.sync(api) ? undefined : apis.get(api);
    if (paused) pauseApi(deps, api, { ...paused, coverage });
    else apis.cover(api, coverage);
    return done; // a link that works again wakes its APIs
  }
  // Not `using`: the packer would inline it into the condition, and never dispose of it.
  const pull = link.reservePull();
  if (!pull) return requeueAfter(PULL_LOOK_MS);
  try {
    return await pullAndSync(deps, api, coverage, link, signal);
  } catch (error) {
    if (isCredentialRefused(error)) {
      link.reject(error);
      return done; // the end of the link pauses the API
    }
    if (isServerFailure(error) && link.awayMs() !== undefined) return done;
    if (error instanceof CrdRefusedError) {
      const fault = neverPulled(error);
      pauseApi(deps, api, { coverage, ...fault, schemaFault: fault });
      return done; // its next change wakes it
    }
    if (!isForbidden(error)) throw error;
    pauseApi(deps, api, {
      coverage,
      reason: "Forbidden",
      message: reasonOf(error),
      isDenied: true,
    });
    return requeueAfter(deniedRetryMs());
  } finally {
    pull[Symbol.dispose]();
  }
}

async function pullAndSync(
  deps: ApiDeps,
  api: string,
  coverage: ApiCoverage,
  link: ProviderLink,
  signal: AbortSignal,
): Promise<Outcome> {
  const { apis, caches } = deps;
  const present = caches.crds.get({ name: api });
  const isInstalled = present !== undefined && isPulled(present);
  const provided = link.api(api);
  // An API that is synced stays so when the provider withdraws it: only new APIs need the label.
  if (!provided || !provided.isExported && !isInstalled) {
    return await withdraw(deps, api, coverage, link, signal);
  }
  const crd = await link.readCrd(api, signal);
  const connection = caches.connections.get({ name: coverage.connection });
  if (!crd || !connection) return requeueAfter(CRD_RETRY_MS);
  // An unbind removes first the CRD, then the binding.
  if (isDeleting(coverage.owner) && !caches.crds.get({ name: api })) {
    apis.pause(api, { coverage, reason: "Pending", message: `${api} is unbound` });
    return done;
  }
  // The bindings may change while the provider is asked. What they wanted before is out of date.
  const isStale = () => coverageNow(deps, api)?.text !== coverage.text;
  if (isStale()) return requeueAfter(STALE_LOOK_MS);
  const install = coverage.isPaused ? usePaused : installApi;
  const installed = await install({ ...deps, crds: caches.crds }, connection, crd, signal);
  if (isFault(installed)) {
    pauseApi(deps, api, { coverage, ...installed, schemaFault: installed });
    return requeueAfter(REFUSED_RETRY_MS);
  }
  const missing = await missingOnConsumer(deps.consumer, installed.type, signal);
  if (missing.length > 0) {
    const message = `The konnector may not ${missing.join(", ")} on this cluster; ` +
      "give it the rights with: kubectl bind connect";
    apis.pause(api, { coverage, reason: "Forbidden", message, isDenied: true });
    return requeueAfter(deniedRetryMs());
  }
  const reach = await reachOf(link, installed.type, signal);
  if (reach.kind === "none") {
    const message = `The credential may not list ${api} on the provider`;
    pauseApi(deps, api, { coverage, reason: "Forbidden", message, isDenied: true });
    return requeueAfter(deniedRetryMs());
  }
  if (isStale()) return requeueAfter(STALE_LOOK_MS);
  startSync(deps, api, coverage, link, installed, hashOf(JSON.stringify(crd.spec)), reach);
  if (installed.problem) return requeueAfter(REFUSED_RETRY_MS);
  return reach.kind === "one" ? requeueAfter(REACH_LOOK_MS) : done;
}

/** Pauses an API that the provider does not export. If its CRD is gone, so are the copies. */
async function withdraw(
  deps: ApiDeps,
  api: string,
  coverage: ApiCoverage,
  link: ProviderLink,
  signal: AbortSignal,
): Promise<Outcome> {
  const message = `The provider does not export ${api}`;
  // A CRD that is being deleted still has copies. When it is gone, the API is woken. Only if CRDs
  // can be read is it certain that one is gone, and its copies with it.
  const isGone = link.activeSource === "CRD" && !await link.readCrd(api, signal);
  pauseApi(deps, api, { coverage, reason: "APINotExported", message, isGone });
  return done;
}

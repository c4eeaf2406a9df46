import { ANNOTATIONS, CORE_CLEANUP_FINALIZER } from "../../common/api/names.ts";
import { hasFinalizer, isDeleting, type ResourceType } from "../../common/api/resources.ts";
import { done, type Outcome, requeueAfter } from "../../common/control/controller.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isForbidden } from "../../common/kube/kube_error.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import type { Log } from "../../common/log/log.ts";
import { type AnyBinding, isNamespaced } from "../any_binding.ts";
import type { Links } from "../connections/links.ts";
import { allBindings, connectionFacts, type ConsumerCaches } from "../consumer_caches.ts";
import { removeCleanup } from "../finalizer.ts";
import type { Related } from "../related/related.ts";
import { relatedLeft, releaseRelated } from "../related/release_related.ts";
import { removeCrd } from "../schema/install_crd.ts";
import type { Apis } from "./apis.ts";
import { type Draining, mostHeld } from "./binding_status.ts";
import { coverageNow } from "./cover_now.ts";
import { covers, names } from "./coverage.ts";
import { isLost, lostNote, type Outages } from "./lost_provider.ts";
import { stayingNote } from "./naming.ts";
import { type Release, releaseObjects } from "./release_objects.ts";

/** What the reconcile of a binding works with. */
export interface BindingDeps {
  readonly consumer: KubeClient;
  readonly caches: ConsumerCaches;
  readonly links: Links;
  readonly apis: Apis;
  readonly related: Related;
  /** Identity of the consumer cluster. */
  readonly clusterUid: string;
  /** How long the bindings that are being deleted have been without their provider. */
  readonly outages: Outages;
  /** After this time without its provider, an unbind goes on without it; 0 means never. */
  readonly unbindTimeoutMs: number;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
}

/** The kind of a binding, and where it is cached. */
export interface BindingKind {
  readonly type: ResourceType<AnyBinding>;
  readonly cache: Cache<AnyBinding>;
}

const DRAIN_LOOK_MS = 1_000;
/** Without its provider, counting takes a list of all objects. */
const LOST_LOOK_MS = 5_000;

/** Takes away what a binding made: copies, finalizers, the CRDs of a ClusterBinding. */
export async function unbind(
  deps: BindingDeps,
  binding: AnyBinding,
  kind: BindingKind,
  show: (draining: Draining) => Promise<void>,
  signal: AbortSignal,
): Promise<Outcome> {
  const { caches, consumer, apis, outages, log } = deps;
  if (!hasFinalizer(binding, CORE_CLEANUP_FINALIZER)) return done;
  const { name, namespace, uid = "" } = binding.metadata;
  const others = [...allBindings(caches)].filter((each) =>
    each.metadata.uid !== uid && !isDeleting(each)
  );
  const facts = connectionFacts(caches);
  const isSameProvider = (connection: string) =>
    facts.providerOf(connection) === facts.providerOf(binding.spec.connectionRef.name);
  const heirs = others.filter(({ spec }) => isSameProvider(spec.connectionRef.name));
  const own: string[] = [];
  const related = await relatedLeft(deps, binding, signal);
  const isIncomplete = !Number.isFinite(related);
  let left = isIncomplete ? 0 : related;
  // Until the sync knows that the binding is being deleted, it may still take on new objects.
  const isUnaware = binding.spec.apis.some((api) =>
    apis.get(api.name)?.coverage.text !== coverageNow(deps, api.name)?.text
  );
  for (const api of binding.spec.apis) {
    const known = apis.get(api.name)?.coverage;
    if (known === undefined || !isSameProvider(known.connection)) continue;
    own.push(api.name);
    left += isUnaware
      ? heldInSync(deps, binding, api.name, heirs) ?? 0
      : await heldBy(deps, binding, api.name, heirs, signal);
  }
  const progress = { left, total: Math.max(left, mostHeld(binding)), isIncomplete };
  if (isUnaware) {
    if (left > 0) await show(progress);
    return requeueAfter(DRAIN_LOOK_MS);
  }
  const { unbindTimeoutMs: timeoutMs } = deps;
  const isHolding = left > 0 || isIncomplete;
  const isWithout = isHolding && isLost(caches, binding);
  const waitedMs = outages.waitedMs(uid, isWithout);
  if (isWithout && timeoutMs > 0 && waitedMs >= timeoutMs) {
    await force(deps, binding, own, heirs, signal);
  } else if (isHolding) {
    await show({ ...progress, lost: isWithout ? lostNote(timeoutMs) : undefined });
    return requeueAfter(isWithout ? LOST_LOOK_MS : DRAIN_LOOK_MS);
  }
  const connection = caches.connections.get({ name: binding.spec.connectionRef.name });
  const keepsCrds = binding.metadata.annotations?.[ANNOTATIONS.keepCrd] === "true" ||
    connection?.spec.schema?.pullPolicy === "None"; // someone else installs and removes them
  if (!isNamespaced(binding) && !keepsCrds) {
    for (const api of binding.spec.apis) {
      const isOwn = caches.crds.get(api)?.metadata.annotations?.[ANNOTATIONS.connection] ===
        binding.spec.connectionRef.name;
      if (!isOwn || others.some((other) => names(other, api.name))) continue;
      await removeCrd({ consumer, crds: caches.crds }, api.name, signal).catch((error) => {
        if (!isForbidden(error)) throw error;
        log.warn("may not delete a CRD, which stays", { api: api.name });
      });
    }
  }
  await removeCleanup(consumer, kind.type, binding, signal, kind.cache);
  outages.forget(uid);
  log.info("unbound", { kind: binding.kind, name, namespace });
  return done;
}

/** Releases the objects of a binding whose provider is lost, and says which copies stay there. */
async function force(
  deps: BindingDeps,
  binding: AnyBinding,
  apis: readonly string[],
  heirs: readonly AnyBinding[],
  signal: AbortSignal,
): Promise<void> {
  const { caches, consumer, recordEvent, log } = deps;
  const released: string[] = [];
  for (const api of apis.filter((name) => caches.crds.get({ name }) !== undefined)) {
    const objects = await releaseObjects.all(consumer, releaseOf(binding, api, heirs), signal);
    released.push(...objects.map((object) => `${api} ${object}`));
  }
  const { kind, metadata: { name, namespace } } = binding;
  log.warn("unbound without the provider", { kind, name, namespace, left: released.length });
  const related = await releaseRelated(deps, binding, signal);
  recordEvent(binding, "Warning", "ProviderLost", stayingNote(released, related));
}

/** Says which objects of an API the binding alone holds. */
const releaseOf = (
  binding: AnyBinding,
  api: string,
  heirs: readonly AnyBinding[],
): Release => ({
  api,
  namespace: isNamespaced(binding) ? binding.metadata.namespace : undefined,
  isKept: (namespace) => heirs.some((heir) => names(heir, api) && covers(heir, namespace)),
});

/** Counts the objects that the binding still holds, and may release some of them. */
async function heldBy(
  deps: BindingDeps,
  binding: AnyBinding,
  api: string,
  heirs: readonly AnyBinding[],
  signal: AbortSignal,
): Promise<number> {
  const { apis, caches, consumer } = deps;
  const synced = heldInSync(deps, binding, api, heirs);
  if (synced !== undefined) return synced;
  const connection = caches.connections.get({ name: binding.spec.connectionRef.name });
  const present = caches.crds.get({ name: api });
  if (!present) return 0;
  const keepsCopies = binding.metadata.annotations?.[ANNOTATIONS.deletionPolicy] === "Orphan";
  const hasCopies = connection && !keepsCopies && !apis.get(api)?.isGone;
  const release = releaseOf(binding, api, heirs);
  if (hasCopies) return await releaseObjects.count(consumer, release, signal);
  // No copy must be deleted on the provider, or none can be without a Connection.
  await releaseObjects.all(consumer, release, signal);
  return 0;
}

/** Counts the objects that the binding alone holds; undefined if no running sync knows them. */
function heldInSync(
  { apis }: BindingDeps,
  binding: AnyBinding,
  api: string,
  heirs: readonly AnyBinding[],
): number | undefined {
  const isCovered = heirs.some((other) => names(other, api) && !isNamespaced(other));
  if (isCovered) return 0;
  const sync = apis.sync(api);
  if (!sync?.hasSynced) return undefined;
  const namespace = isNamespaced(binding) ? binding.metadata.namespace : undefined;
  if (namespace !== undefined) return sync.counts.held(namespace);
  return heirs.filter((other) => names(other, api) && isNamespaced(other))
    .reduce((sum, { metadata }) => sum - sync.counts.held(metadata.namespace), sync.counts.held());
}

import { ANNOTATIONS, CORE_CLEANUP_FINALIZER, FIELD_MANAGERS } from "../../common/api/names.ts";
import {
  BINDINGS,
  CLUSTER_BINDINGS,
  condition,
  hasFinalizer,
  isDeleting,
  type ResourceType,
} from "../../common/api/resources.ts";
import { done, type Outcome, requeueAfter } from "../../common/control/controller.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import type { Log } from "../../common/log/log.ts";
import { isPendingAgain, isSameStatus } from "../conditions.ts";
import { allBindings, type ConsumerCaches, providerOf } from "../consumer_caches.ts";
import { addCleanup, learned, removeCleanup } from "../finalizer.ts";
import type { Links } from "../connections/links.ts";
import type { Related } from "../related/related.ts";
import { relatedView } from "../related/related_view.ts";
import { relatedLeft } from "../related/release_related.ts";
import { removeCrd } from "../schema/install_crd.ts";
import { parseKey } from "../sync/sync_context.ts";
import type { Apis } from "./apis.ts";
import { bindingStatus, type BindingView, type BoundApiView } from "./binding_status.ts";
import { type AnyBinding, coverageOf, isNamespaced, names } from "./coverage.ts";
import { releaseObjects } from "./release_objects.ts";

/** What the reconcile of a binding works with. */
export interface BindingDeps {
  readonly consumer: KubeClient;
  readonly caches: ConsumerCaches;
  readonly links: Links;
  readonly apis: Apis;
  readonly related: Related;
  /** Identity of the consumer cluster. */
  readonly clusterUid: string;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
}

const DRAIN_LOOK_MS = 1_000;

/** Brings finalizer and status of a binding up to date, and unbinds one that is being deleted. */
export async function reconcileBinding(
  deps: BindingDeps,
  key: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const kind = kindOf(deps.caches, key);
  const found = kind.cache.get(parseKey(key));
  if (!found) return done;
  if (isDeleting(found)) return await unbind(deps, found, kind, signal);
  const binding = learned(
    kind.cache,
    await addCleanup(deps.consumer, kind.type, found, signal),
  );
  await store(deps, binding, viewOf(deps, binding), kind, signal);
  return done;
}

interface BindingKind {
  readonly type: ResourceType<AnyBinding>;
  readonly cache: Cache<AnyBinding>;
}

/** A key with a namespace is a Binding's, one without is a ClusterBinding's. */
const kindOf = ({ bindings, clusterBindings }: ConsumerCaches, key: string): BindingKind =>
  key.includes("/")
    ? { type: BINDINGS, cache: bindings as Cache<AnyBinding> }
    : { type: CLUSTER_BINDINGS, cache: clusterBindings as Cache<AnyBinding> };

function viewOf(deps: BindingDeps, binding: AnyBinding): BindingView {
  return {
    connectionFault: connectionFault(deps, binding),
    apis: binding.spec.apis.map(({ name }) => apiView(deps, binding, name)),
    related: relatedView(deps.related, binding),
  };
}

function connectionFault(
  { caches }: BindingDeps,
  { spec: { connectionRef: { name } } }: AnyBinding,
): BindingView["connectionFault"] {
  const connection = caches.connections.get({ name });
  if (!connection) return { reason: "Pending", message: `The Connection ${name} does not exist` };
  // A Connection that waits for its bindings to go is not Ready, but serves them.
  const isDraining = condition(connection, "Ready")?.reason === "DrainingBindings";
  const ready = condition(connection, isDraining ? "Connected" : "Ready");
  if (ready?.status === "True") return undefined;
  const reason = ready?.reason ?? "Pending";
  return { reason, message: `The Connection ${name} is not ready: ${ready?.message ?? reason}` };
}

function apiView({ apis }: BindingDeps, binding: AnyBinding, name: string): BoundApiView {
  const state = apis.get(name);
  const sync = apis.sync(name);
  const namespace = isNamespaced(binding) ? binding.metadata.namespace : undefined;
  const base = {
    name,
    isDenied: state?.isDenied === true,
    hasSynced: sync?.hasSynced === true,
    crdHash: state?.crdHash,
    conflicts: sync?.counts.conflicts(namespace) ?? 0,
    onlyNamespace: state?.reach?.kind === "one" ? state.reach.namespace : undefined,
  };
  if (!state) return { ...base, reason: "Pending", message: `${name} is not bound yet` };
  if (state.coverage.connection !== binding.spec.connectionRef.name) {
    const { kind, metadata } = state.coverage.owner;
    const message = `${name} is bound by the ${kind} ${metadata.name} ` +
      `through the Connection ${state.coverage.connection}`;
    return { ...base, reason: "APIBoundElsewhere", message, isDenied: false };
  }
  if (namespace !== undefined && sync && !sync.type.namespaced) {
    const message = `${name} is cluster-scoped: bind it with a ClusterBinding`;
    return { ...base, reason: "Rejected", message };
  }
  return { ...base, reason: state.reason, message: state.message };
}

async function store(
  { consumer, recordEvent, log }: BindingDeps,
  binding: AnyBinding,
  view: BindingView,
  { type, cache }: BindingKind,
  signal: AbortSignal,
): Promise<void> {
  const status = bindingStatus(binding, view, new Date());
  if (isSameStatus(status, binding.status) || isPendingAgain(binding, status)) return;
  const { apiVersion, kind, metadata: { name, namespace } } = binding;
  const metadata = { name, ...(namespace && { namespace }) };
  const applied = { apiVersion, kind, metadata, status } as AnyBinding;
  const manager = FIELD_MANAGERS.konnector;
  cache.learn(await consumer.applyStatus(type, applied, manager, signal), manager);
  const ready = status.conditions?.find((each) => each.type === "Ready");
  const before = condition(binding, "Ready");
  if (!ready || ready.status === before?.status && ready.reason === before.reason) return;
  const { reason, message } = ready;
  log.info("binding changed", { kind, name, namespace, ready: ready.status, reason, message });
  if (ready.status === "False" && !PASSING.includes(reason)) {
    recordEvent(binding, "Warning", reason, message);
  }
}

const PASSING = ["Pending", "DrainingObjects"];

/** Takes away what a binding made: copies, finalizers, the CRDs of a ClusterBinding. */
async function unbind(
  deps: BindingDeps,
  binding: AnyBinding,
  kind: BindingKind,
  signal: AbortSignal,
): Promise<Outcome> {
  const { caches, consumer, apis, log } = deps;
  if (!hasFinalizer(binding, CORE_CLEANUP_FINALIZER)) return done;
  const { name, namespace } = binding.metadata;
  const others = [...allBindings(caches)].filter((each) =>
    each.metadata.uid !== binding.metadata.uid && !isDeleting(each)
  );
  const provider = providerOf(caches);
  const isSameProvider = (connection: string) =>
    provider(connection) === provider(binding.spec.connectionRef.name);
  const heirs = others.filter(({ spec }) => isSameProvider(spec.connectionRef.name));
  let left = await relatedLeft(deps, binding, signal);
  for (const api of binding.spec.apis) {
    const known = apis.get(api.name)?.coverage;
    const wanted = coverageOf(api.name, allBindings(caches), provider);
    // Until the sync knows that the binding goes, it may still take on new objects.
    if (known?.text !== wanted?.text) return requeueAfter(DRAIN_LOOK_MS);
    const isOwn = known !== undefined && isSameProvider(known.connection);
    if (isOwn) left += await heldBy(deps, binding, api.name, heirs, signal);
  }
  if (left > 0) {
    await store(deps, binding, { ...viewOf(deps, binding), draining: { left } }, kind, signal);
    return requeueAfter(DRAIN_LOOK_MS);
  }
  const connection = caches.connections.get({ name: binding.spec.connectionRef.name });
  const keepsCrds = binding.metadata.annotations?.[ANNOTATIONS.keepCrd] === "true" ||
    connection?.spec.schema?.pullPolicy === "None"; // someone else installs and removes them
  if (!isNamespaced(binding) && !keepsCrds) {
    for (const api of binding.spec.apis) {
      const isOwn = caches.crds.get(api)?.metadata.annotations?.[ANNOTATIONS.connection] ===
        binding.spec.connectionRef.name;
      if (!isOwn || others.some((other) => names(other, api.name))) continue;
      await removeCrd({ consumer, crds: caches.crds }, api.name, signal);
    }
  }
  await removeCleanup(consumer, kind.type, binding, signal, kind.cache);
  log.info("unbound", { kind: binding.kind, name, namespace });
  return done;
}

/** Counts the objects that the binding still holds. Infinity while they are not known. */
async function heldBy(
  { apis, caches, consumer }: BindingDeps,
  binding: AnyBinding,
  api: string,
  heirs: readonly AnyBinding[],
  signal: AbortSignal,
): Promise<number> {
  const isCovered = heirs.some((other) => names(other, api) && !isNamespaced(other));
  if (isCovered) return 0;
  const namespace = isNamespaced(binding) ? binding.metadata.namespace : undefined;
  const sync = apis.sync(api);
  if (sync?.hasSynced) {
    const kept = namespace === undefined
      ? heirs.filter((other) => names(other, api) && isNamespaced(other))
        .reduce((sum, other) => sum + sync.counts.held(other.metadata.namespace), 0)
      : 0;
    return sync.counts.held(namespace) - kept;
  }
  const connection = caches.connections.get({ name: binding.spec.connectionRef.name });
  const present = caches.crds.get({ name: api });
  const keepsCopies = binding.metadata.annotations?.[ANNOTATIONS.deletionPolicy] === "Orphan";
  const hasCopies = connection && !keepsCopies && !apis.get(api)?.isGone;
  if (hasCopies && present) return await releaseObjects.count(consumer, api, namespace, signal);
  // Nothing is to be taken from the provider, or without a Connection nothing can be.
  if (present) await releaseObjects.all(consumer, api, namespace, signal);
  return 0;
}

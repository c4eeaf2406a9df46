import { FIELD_MANAGERS } from "../../common/api/names.ts";
import {
  BINDINGS,
  type BindingStatus,
  CLUSTER_BINDINGS,
  condition,
  isDeleting,
  isReady,
  type KubeObject,
} from "../../common/api/resources.ts";
import { done, type Outcome } from "../../common/control/controller.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import type { Log } from "../../common/log/log.ts";
import { type AnyBinding, isNamespaced } from "../any_binding.ts";
import { isPendingAgain, isSameStatus } from "../conditions.ts";
import type { Fault } from "../connections/connection_status.ts";
import type { ConsumerCaches } from "../consumer_caches.ts";
import { addCleanup, learned } from "../finalizer.ts";
import { type Pause, pauseOf, wrongAnnotation } from "../pause.ts";
import { relatedView } from "../related/related_view.ts";
import { parseKey } from "../sync/sync_context.ts";
import {
  bindingStatus,
  type BindingView,
  type BoundApiView,
  type Draining,
} from "./binding_status.ts";
import type { ApiCoverage } from "./coverage.ts";
import { type BindingDeps, type BindingKind, unbind } from "./unbind.ts";

const SERVING = ["DrainingBindings", "Paused", "AnnotationInvalid"];

/** Brings finalizer and status of a binding up to date, and unbinds one that is being deleted. */
export async function reconcileBinding(
  deps: BindingDeps,
  key: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const kind = kindOf(deps.caches, key);
  const found = kind.cache.get(parseKey(key));
  if (!found) return done;
  if (isDeleting(found)) {
    const view = viewOf(deps, found);
    const show = (draining?: Draining) => store(deps, found, { ...view, draining }, kind, signal);
    if (!pauseFor(deps, found)) return await unbind(deps, found, kind, show, signal);
    await show();
    return done; // the end of the pause is an event
  }
  const binding = learned(
    kind.cache,
    await addCleanup(deps.consumer, kind.type, found, signal),
  );
  await store(deps, binding, viewOf(deps, binding), kind, signal);
  return done;
}

/** A key with a namespace is a Binding's, one without is a ClusterBinding's. */
const kindOf = ({ bindings, clusterBindings }: ConsumerCaches, key: string): BindingKind =>
  key.includes("/")
    ? { type: BINDINGS, cache: bindings as Cache<AnyBinding> }
    : { type: CLUSTER_BINDINGS, cache: clusterBindings as Cache<AnyBinding> };

function viewOf(deps: BindingDeps, binding: AnyBinding): BindingView {
  const wrong = wrongAnnotation(binding);
  return {
    connectionFault: connectionFault(deps, binding),
    pause: isPauseInEffect(deps, binding) ? pauseFor(deps, binding) : undefined,
    wrong: wrong && faultOf(wrong, binding),
    apis: binding.spec.apis.map(({ name }) => apiView(deps, binding, name)),
    related: relatedView(deps, binding),
  };
}

/** Returns why nothing may be written for a binding, by itself or by its Connection. */
function pauseFor({ caches }: BindingDeps, binding: AnyBinding): Fault | undefined {
  const { name } = binding.spec.connectionRef;
  for (const object of [binding, caches.connections.get({ name })]) {
    const pause = object && pauseOf(object);
    if (pause) return faultOf(pause, object);
  }
}

const faultOf = ({ reason, annotation, why }: Pause, { kind, metadata }: KubeObject): Fault => ({
  reason,
  message: `The annotation ${annotation} of the ${kind} ${metadata.name} ${why}`,
});

/** A pause is shown only when the syncs know of it. */
const isPauseInEffect = ({ apis }: BindingDeps, { spec, metadata }: AnyBinding): boolean =>
  spec.apis.every(({ name }) => {
    const coverage = apis.get(name)?.coverage;
    const isOurs = coverage?.connection === spec.connectionRef.name;
    return !isOurs || coverage.of(metadata.namespace ?? "").coverage === "paused";
  });

function connectionFault(
  { caches }: BindingDeps,
  { spec: { connectionRef: { name } } }: AnyBinding,
): BindingView["connectionFault"] {
  const connection = caches.connections.get({ name });
  if (!connection) return { reason: "Pending", message: `The Connection ${name} does not exist` };
  // A Connection that is paused, or waits for its bindings to go, is not Ready, but connected.
  const isServing = SERVING.includes(condition(connection, "Ready")?.reason ?? "");
  const ready = condition(connection, isServing ? "Connected" : "Ready");
  if (ready?.status === "True") return undefined;
  const reason = ready?.reason ?? "Pending";
  return { reason, message: `The Connection ${name} is not ready: ${ready?.message ?? reason}` };
}

function apiView({ apis }: BindingDeps, binding: AnyBinding, name: string): BoundApiView {
  const state = apis.get(name);
  const sync = apis.sync(name);
  const namespace = isNamespaced(binding) ? binding.metadata.namespace : undefined;
  const { schemaFault } = state ?? {};
  const lacked = schemaFault?.reason === "Forbidden" ? schemaFault.message : undefined;
  const base = {
    name,
    isDenied: state?.isDenied === true || lacked !== undefined,
    hasSynced: sync?.hasSynced === true,
    crdHash: state?.crdHash,
    conflicts: sync?.counts.conflicts(namespace) ?? 0,
    leftovers: sync?.counts.leftovers(namespace) ?? 0,
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
  const ruledBy = rulerOf(state.coverage, binding);
  return { ...base, reason: state.reason, message: lacked ?? state.message, ruledBy };
}

/** Names another binding whose wishes count for the objects of a binding. */
function rulerOf({ bindingOf }: ApiCoverage, { metadata }: AnyBinding): string | undefined {
  const ruler = bindingOf(metadata.namespace ?? "");
  if (!ruler || ruler.metadata.uid === metadata.uid) return undefined;
  return `${ruler.kind} ${ruler.metadata.name}`;
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
  tellOfAnnotation(recordEvent, log, binding, status);
  const ready = status.conditions?.find((each) => each.type === "Ready");
  const before = condition(binding, "Ready");
  if (!ready || ready.status === before?.status && ready.reason === before.reason) return;
  const { reason, message } = ready;
  log.info("binding changed", { kind, name, namespace, ready: ready.status, reason, message });
  if (ready.status === "False" && !PASSING.includes(reason)) {
    recordEvent(binding, "Warning", reason, message);
  }
}

/** Reports once a wrong annotation of a binding that is Ready nevertheless. */
function tellOfAnnotation(
  recordEvent: RecordEvent,
  log: Log,
  binding: AnyBinding,
  status: BindingStatus,
): void {
  const { reason, message = "" } = condition({ ...binding, status }, "Synced") ?? {};
  const before = condition(binding, "Synced")?.reason;
  if (reason !== "AnnotationInvalid" || reason === before) return;
  if (!isReady({ ...binding, status })) return; // the condition Ready says it already
  const { kind, metadata: { name, namespace } } = binding;
  log.warn("a binding has a wrong annotation", { kind, name, namespace, message });
  recordEvent(binding, "Warning", reason, message);
}

const PASSING = ["Pending", "DrainingObjects", "Paused"];

/**
 * A sample controller of the provider. A real one would run every Widget; this one only reports so
 * in the Widget's status. It knows nothing of consumers: to it, all Widgets are local.
 * controller.yaml has the rights that it needs.
 *
 *     KUBECONFIG=provider.kubeconfig deno run -A examples/widgets/controller.ts
 */
import { type Condition, isDeleting, type KubeObject } from "../../common/api/resources.ts";
import { Queue } from "../../common/control/queue.ts";
import { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { connect } from "../../common/kube/connect.ts";
import { wholeObjects } from "../../common/kube/follow.ts";
import { keyText, objectPath } from "../../common/kube/paths.ts";
import { watchReports } from "../../common/kube/watch_reports.ts";
import { createLogger } from "../../common/log/log.ts";

interface Widget extends KubeObject {
  readonly spec: { readonly size: string; readonly replicas: number };
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: Condition[] };
}

const WIDGETS = {
  group: "example.org",
  version: "v1alpha1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};

const log = createLogger({
  encoder: "console",
  level: "info",
  stacktraceLevel: "panic",
  timeEncoding: "iso8601",
});

/** Builds the status of a Widget that runs as its spec says. */
function statusOf({ metadata, spec, status }: Widget) {
  const { name, namespace, generation = 0 } = metadata;
  const before = status?.conditions?.find(({ type }) => type === "Ready");
  const ready: Condition = {
    type: "Ready",
    status: "True",
    reason: "Running",
    message: `${spec.replicas} of ${spec.replicas} replicas of size ${spec.size} run`,
    observedGeneration: generation,
    lastTransitionTime: before?.lastTransitionTime ?? new Date().toISOString(),
  };
  const endpoint = `https://${name}.${namespace}.widgets.example.org`;
  return { phase: "Running", endpoint, observedGeneration: generation, conditions: [ready] };
}

/** Writes the status of a Widget, unless it is about the current generation already. */
async function reconcile(kube: KubeClient, widget: Widget): Promise<void> {
  const { metadata, status } = widget;
  if (isDeleting(widget) || status?.observedGeneration === metadata.generation) return;
  const changed = { ...widget, status: statusOf(widget) };
  await kube.request("PUT", objectPath(WIDGETS, metadata, "status"), changed);
  log.info("Widget runs", { widget: keyText(metadata), generation: metadata.generation });
}

const { signal } = new AbortController(); // it runs until its process is stopped
const env = Deno.env.toObject();
const { kube } = await connect({ agent: "widgets-controller", kubeconfig: "", env });
const widgets = new Cache<Widget>(wholeObjects(WIDGETS), { reports: watchReports(log, "Widgets") });
const queue = new Queue();

// The cache follows all Widgets. Each change puts a Widget's key into the queue.
widgets.onChange(({ after }) => after && queue.add(keyText(after.metadata)));
widgets.run(kube, signal);
while (true) {
  const key = await queue.take(signal);
  const [namespace, name = ""] = key.split("/");
  const widget = widgets.get({ namespace, name });
  try {
    if (widget) await reconcile(kube, widget);
    queue.succeed(key);
  } catch (error) {
    log.error("cannot write the status; will retry", { widget: key, error });
    queue.fail(key);
  }
}

import type { Connection } from "../common/api/resources.ts";
import type { Queue } from "../common/control/queue.ts";
import type { Change } from "../common/kube/cache.ts";
import type { MetadataObject } from "../common/kube/metadata.ts";
import { keyText } from "../common/kube/paths.ts";
import type { AnyBinding } from "./any_binding.ts";
import { names } from "./bindings/coverage.ts";
import type { UnboundApis } from "./bindings/unbound_apis.ts";
import { allBindings, type ConsumerCaches } from "./consumer_caches.ts";
import { isPaused } from "./pause.ts";

/** Counts of objects change often. A binding shows them after this time. */
const PROGRESS_MS = 250;

/** The queues of the controllers: names of Connections and APIs, keys of bindings. */
export interface Queues {
  readonly connections: Queue;
  readonly apis: Queue;
  readonly bindings: Queue;
  readonly related: Queue;
}

/** Says which keys a change concerns. Calls `cover` for each API whose bindings changed, at once. */
export function wakers(
  caches: ConsumerCaches,
  queues: Queues,
  unbound: UnboundApis,
  cover: (api: string) => void,
) {
  const bindingsOf = (matches: (binding: AnyBinding) => boolean) =>
    [...allBindings(caches)].filter(matches);
  const wakeBinding = ({ metadata }: AnyBinding) => queues.bindings.add(keyText(metadata));
  const wakeApisOf = (binding: AnyBinding) => {
    for (const { name } of binding.spec.apis) queues.apis.add(name);
  };
  const coverApisOf = (binding: AnyBinding) => binding.spec.apis.forEach(({ name }) => cover(name));
  const usersOf = (connection: string) =>
    bindingsOf(({ spec }) => spec.connectionRef.name === connection);
  const wakeApisThrough = (connection: string) => {
    usersOf(connection).forEach(wakeApisOf);
    for (const api of unbound.wantedBy(connection)) queues.apis.add(api);
  };
  const isNamedBy = (bindings: AnyBinding[], api: string) =>
    bindings.some((binding) => names(binding, api));

  const connectionChanged = ({ before, after, writer }: Change<Connection>) => {
    const { name } = (after ?? before as Connection).metadata;
    if (!writer) queues.connections.add(name);
    usersOf(name).forEach(wakeBinding);
    const isNewSpec = before?.metadata.generation !== after?.metadata.generation;
    const isPauseChanged = before && after && isPaused(before) !== isPaused(after);
    if (isPauseChanged) usersOf(name).forEach(coverApisOf);
    if (isNewSpec || isPauseChanged) wakeApisThrough(name);
    if (isPauseChanged) queues.related.add(name);
  };
  const bindingChanged = ({ before, after, writer }: Change<AnyBinding>) => {
    if (writer) return;
    for (const binding of [before, after]) {
      if (!binding) continue;
      coverApisOf(binding);
      wakeBinding(binding);
      wakeApisOf(binding);
      queues.connections.add(binding.spec.connectionRef.name);
      queues.related.add(binding.spec.connectionRef.name);
    }
  };
  const crdChanged = ({ before, after, writer }: Change<MetadataObject>) => {
    const { name } = (after ?? before as MetadataObject).metadata;
    const isWanted = isNamedBy([...allBindings(caches)], name) || unbound.wanting(name).length > 0;
    if (!writer && isWanted) queues.apis.add(name);
  };
  const secretChanged = ({ before, after }: Change<MetadataObject>) => {
    const { name, namespace } = (after ?? before as MetadataObject).metadata;
    for (const { metadata, spec: { kubeconfigSecretRef: ref } } of caches.connections.values()) {
      if (ref.name === name && ref.namespace === namespace) queues.connections.add(metadata.name);
    }
  };

  return {
    /** A link was opened or closed, works again, or a CRD of its provider changed. */
    linkChanged: (connection: string, crd?: string) => {
      queues.connections.add(connection);
      if (crd === undefined) {
        queues.related.add(connection);
        wakeApisThrough(connection);
      } else if (isNamedBy(usersOf(connection), crd) || unbound.wantedBy(connection).has(crd)) {
        queues.apis.add(crd);
      }
    },
    /** A link may be used, or may no longer be. */
    linkUsable: (connection: string) => {
      queues.related.add(connection);
      wakeApisThrough(connection);
    },
    /** Related copies of a Connection changed, or their problems did. */
    relatedChanged: (connection: string) => {
      for (const { metadata } of usersOf(connection)) {
        queues.bindings.addAfter(keyText(metadata), PROGRESS_MS);
      }
    },
    /** The state of an API or the counts of its objects changed. */
    apiChanged: (api: string) => {
      for (const { metadata } of bindingsOf((binding) => names(binding, api))) {
        queues.bindings.addAfter(keyText(metadata), PROGRESS_MS);
      }
    },
    /** Listens to the caches, and queues everything in them. */
    follow: (): Disposable => {
      for (const { metadata } of caches.connections.values()) queues.connections.add(metadata.name);
      for (const binding of allBindings(caches)) {
        wakeBinding(binding);
        wakeApisOf(binding);
      }
      const stops = [
        caches.connections.onChange(connectionChanged),
        caches.clusterBindings.onChange(bindingChanged),
        caches.bindings.onChange(bindingChanged),
        caches.crds.onChange(crdChanged),
        ...[...caches.secrets.values()].map((cache) => cache.onChange(secretChanged)),
      ];
      return { [Symbol.dispose]: () => stops.forEach((stop) => stop()) };
    },
  };
}

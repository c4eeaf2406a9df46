import { ANNOTATIONS } from "../../common/api/names.ts";
import { type Connection, isDeleting } from "../../common/api/resources.ts";
import { done, type Outcome, requeueAfter } from "../../common/control/controller.ts";
import { isServerFailure } from "../../common/kube/kube_error.ts";
import type { Links } from "../connections/links.ts";
import { isCredentialRefused } from "../connections/provider_link.ts";
import type { ConsumerCaches } from "../consumer_caches.ts";
import { CrdRefusedError } from "../schema/consumer_crd.ts";
import { isPulled } from "../schema/install_crd.ts";
import {
  installApi,
  type InstallDeps,
  isFault,
  neverPulled,
  type SchemaFault,
} from "./install_api.ts";

/** The CRDs that Connections with the pull policy `All` want, also those that nobody binds. */
export class UnboundApis {
  readonly #wanted = new Map<string, ReadonlySet<string>>();
  readonly #pulled = new Map<string, SchemaFault | undefined>();
  readonly #wake: (api: string) => void;
  readonly #settled: (connection: string) => void;

  /** Calls `wake` for each API to reconcile, `settled` for each Connection that waited for it. */
  constructor(wake: (api: string) => void, settled: (connection: string) => void) {
    this.#wake = wake;
    this.#settled = settled;
  }

  /** Notes the APIs that a Connection wants from now on. */
  want(connection: string, names: readonly string[]): void {
    const before = this.wantedBy(connection);
    const after = new Set(names);
    if (after.size === 0) this.#wanted.delete(connection);
    else this.#wanted.set(connection, after);
    for (const api of before.symmetricDifference(after)) this.#wake(api);
  }

  /** Returns the APIs that a Connection wants. */
  wantedBy(connection: string): ReadonlySet<string> {
    return this.#wanted.get(connection) ?? new Set();
  }

  /** Lists the Connections that want an API. */
  wanting(api: string): string[] {
    return [...this.#wanted].filter(([, names]) => names.has(api)).map(([connection]) =>
      connection
    );
  }

  /** Whether a pull of an API was tried. */
  isSettled(api: string): boolean {
    return this.#pulled.has(api);
  }

  /** Returns why the CRD of an API differs from the provider's. */
  fault(api: string): SchemaFault | undefined {
    return this.#pulled.get(api);
  }

  /** Notes that an API was pulled, or why not. */
  settle(api: string, fault: SchemaFault | undefined): void {
    const isKnown = this.#pulled.has(api) && this.#pulled.get(api)?.message === fault?.message;
    this.#pulled.set(api, fault);
    if (!isKnown) this.wanting(api).forEach(this.#settled);
  }

  /** Forgets an API that is bound, or that nobody wants. */
  forget(api: string): void {
    this.#pulled.delete(api);
  }
}

/** What pulling works with. */
export interface UnboundDeps extends Omit<InstallDeps, "crds"> {
  readonly caches: ConsumerCaches;
  readonly links: Links;
  readonly unbound: UnboundApis;
}

const REFUSED_RETRY_MS = 60_000;

/** Installs the CRD of an API that nobody binds, if a Connection wants it. Syncs no object. */
export async function pullUnbound(
  deps: UnboundDeps,
  api: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const { caches, links, unbound } = deps;
  const [oldest] = unbound.wanting(api)
    .map((name) => caches.connections.get({ name }))
    .filter((each) => each !== undefined && !isDeleting(each))
    .toSorted((a, b) => ageOf(a) < ageOf(b) ? -1 : 1);
  if (!oldest) {
    unbound.forget(api);
    return done;
  }
  const holder = holderOf(deps, api);
  const connection = holder ?? oldest;
  const link = links.get(connection.metadata.name);
  if (!link?.hasSynced || link.awayMs() !== undefined) {
    // For other Connections its CRD is good enough until then.
    if (holder && !unbound.isSettled(api)) unbound.settle(api, undefined);
    return done; // the link wakes it
  }
  try {
    const crd = await link.readCrd(api, signal);
    if (!crd) return done; // its event wakes the Connection
    const installed = await installApi({ ...deps, crds: caches.crds }, connection, crd, signal);
    const fault = isFault(installed) ? installed : installed.problem;
    if (fault?.reason !== "Pending") unbound.settle(api, fault);
    return fault ? requeueAfter(REFUSED_RETRY_MS) : done;
  } catch (error) {
    if (error instanceof CrdRefusedError) unbound.settle(api, neverPulled(error));
    else if (isCredentialRefused(error)) link.reject(error);
    else if (!isServerFailure(error) || link.awayMs() === undefined) throw error;
    return done; // a change, or a link that works again, wakes it
  }
}

/**
 * Returns the Connection that pulled the CRD of an API, as long as it may want it. It keeps the CRD,
 * so that a restart changes nothing if the link of another Connection opens first.
 */
function holderOf({ caches, links }: UnboundDeps, api: string): Connection | undefined {
  const crd = caches.crds.get({ name: api });
  const name = crd && isPulled(crd) && crd.metadata.annotations?.[ANNOTATIONS.connection];
  const connection = name ? caches.connections.get({ name }) : undefined;
  if (!name || !connection || isDeleting(connection)) return undefined;
  if (connection.spec.schema?.pullPolicy !== "All") return undefined;
  const link = links.get(name);
  return !link?.hasSynced || link.api(api)?.isExported ? connection : undefined;
}

const ageOf = (object: { metadata: { creationTimestamp?: string; name: string } } | undefined) =>
  `${object?.metadata.creationTimestamp} ${object?.metadata.name}`;

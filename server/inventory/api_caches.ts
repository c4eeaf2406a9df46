import {
  CRDS,
  type CustomResourceDefinition,
  type RelatedResource,
  relatedType,
  type ResourceType,
} from "../../common/api/resources.ts";
import { errorChain } from "../../common/errors.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { FollowSource } from "../../common/kube/follow.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { isDnsSubdomain, parseApiName } from "../../common/api/names.ts";
import type { Log } from "../../common/log/log.ts";
import { sleep } from "../../common/time/wait.ts";
import {
  labelledObjects,
  managedCopies,
  managedObjects,
  namedObjects,
  servedType,
} from "./api_sources.ts";
import { type ApiObjects, ApiWatch, NOTHING } from "./api_watch.ts";
import { FIRST_SYNC_MS } from "./availability.ts";
import { compare, selectorText } from "../../common/api/selector.ts";

/** What `ApiCaches` works with. */
export interface ApiCachesDeps {
  readonly kube: KubeClient;
  readonly log: Log;
  /** Finds the CRD of an API; by default a live read. */
  readonly findCrd?: (
    name: string,
    signal: AbortSignal,
  ) => Promise<CustomResourceDefinition | undefined>;
  readonly timing?: ApiCachesTiming;
}

/** Times that tests shorten. */
export interface ApiCachesTiming {
  /** A watch that was not used for this long is closed. */
  readonly idleMs: number;
  readonly firstSyncMs: number;
  /** When to look again for an API that was missing or not readable. */
  readonly retryMs: number;
}

const DEFAULT_TIMING: ApiCachesTiming = {
  idleMs: 10 * 60_000,
  firstSyncMs: FIRST_SYNC_MS,
  retryMs: 5_000,
};

type FindSource = (signal: AbortSignal) => Promise<FollowSource<MetadataObject> | undefined>;

interface Entry {
  readonly watch: ApiWatch;
  lastUsedMs: number;
}

/**
 * Metadata of the objects that inventories show. It opens one watch per API and selection at the
 * first request, shares it among all requests, and closes it when it was idle for a while.
 */
export class ApiCaches {
  readonly #deps: ApiCachesDeps;
  readonly #timing: ApiCachesTiming;
  readonly #entries = new Map<string, Entry>();
  /** The keys that are left out at present; each is logged once. */
  readonly #saidLeftOut = new Set<string>();
  readonly #closing = new Set<Promise<void>>();
  #isEnded = false;

  constructor(deps: ApiCachesDeps) {
    this.#deps = deps;
    this.#timing = deps.timing ?? DEFAULT_TIMING;
  }

  /** The number of open watches. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the synced objects of an exported API; see `ApiWatch.objects`. */
  managedObjects(api: string, signal?: AbortSignal): Promise<ApiObjects | undefined> {
    return this.#use(`api ${api}`, api, (stop) => this.#apiSource(api, stop), signal);
  }

  /** Returns the copies of a related resource that came from consumers. */
  managedCopies(
    resource: RelatedResource["resource"],
    signal?: AbortSignal,
  ): Promise<ApiObjects | undefined> {
    const find = () => Promise.resolve(managedCopies(relatedType(resource)));
    return this.#use(`copies ${resource}`, resource, find, signal);
  }

  /**
   * Returns the provider's own objects that a rule selects. A label selector is used alone, without
   * the names, so that rules that differ only in names share a watch.
   */
  async providerObjects(
    { resource, selector }: Pick<RelatedResource, "resource" | "selector">,
    signal?: AbortSignal,
  ): Promise<ApiObjects | undefined> {
    const type: ResourceType = relatedType(resource);
    const { labelSelector, names = [] } = selector ?? {};
    if (labelSelector) {
      const key = `labelled ${resource} ${selectorText(labelSelector)}`;
      const find = () => Promise.resolve(labelledObjects(type, labelSelector));
      return await this.#use(key, resource, find, signal);
    }
    const sorted = [...new Set(names.filter(isDnsSubdomain))].sort(compare);
    if (sorted.length === 0) return NOTHING;
    const find = () => Promise.resolve(namedObjects(type, sorted));
    return await this.#use(`named ${resource} ${sorted.join(" ")}`, resource, find, signal);
  }

  /** Closes idle watches. Closes all of them once the signal aborts; none is opened after that. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#timing.idleMs / 20, signal).catch(() => {});
      const oldestMs = performance.now() - this.#timing.idleMs;
      for (const [key, { lastUsedMs }] of this.#entries) {
        if (lastUsedMs < oldestMs) this.#close(key);
      }
    }
    this.#isEnded = true;
    for (const key of [...this.#entries.keys()]) this.#close(key);
    await Promise.all(this.#closing);
  }

  async #use(
    key: string,
    what: string,
    findSource: FindSource,
    signal: AbortSignal | undefined,
  ): Promise<ApiObjects | undefined> {
    if (this.#isEnded) return undefined;
    const { watch } = this.#entry(key, findSource);
    const objects = await watch.objects(signal);
    if (objects && watch.overSince === undefined) this.#saidLeftOut.delete(key);
    else this.#sayLeftOut(key, what, objects ? "there is no such API" : watch.failure);
    return objects;
  }

  #entry(key: string, findSource: FindSource): Entry {
    const now = performance.now();
    const known = this.#entries.get(key);
    if (known && now - (known.watch.overSince ?? now) < this.#timing.retryMs) {
      known.lastUsedMs = now;
      return known;
    }
    const { kube } = this.#deps;
    const watch = new ApiWatch({ kube, findSource, firstSyncMs: this.#timing.firstSyncMs });
    const entry = { watch, lastUsedMs: now };
    this.#entries.set(key, entry);
    return entry;
  }

  #close(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#saidLeftOut.delete(key);
    const closing = entry.watch.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  async #apiSource(
    api: string,
    signal: AbortSignal,
  ): Promise<FollowSource<MetadataObject> | undefined> {
    if (!parseApiName(api)) return undefined;
    const { kube, findCrd = (name, stop) => kube.find(CRDS, { name }, stop) } = this.#deps;
    const crd = await findCrd(api, signal);
    const type = crd && servedType(crd);
    return type && managedObjects(type);
  }

  #sayLeftOut(key: string, what: string, reason: unknown): void {
    if (this.#saidLeftOut.has(key)) return;
    this.#saidLeftOut.add(key);
    this.#deps.log.warn("an API is left out of the inventory", {
      api: what,
      reason: reason === undefined ? "its objects were not listed in time" : errorChain(reason),
    });
  }
}

import { Cache } from "../../common/kube/cache.ts";
import type { IndexFunction } from "../../common/kube/indexes.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { FollowSource } from "../../common/kube/follow.ts";
import { isNotFound, KubeError } from "../../common/kube/kube_error.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { sleep, untilAborted } from "../../common/time/wait.ts";
import { ANNOTATIONS, isBoundaryName } from "../../common/api/names.ts";
import { Backoff } from "../../common/time/backoff.ts";
import { childController } from "../../common/time/runnable.ts";
import { isWanted } from "./api_sources.ts";
import { MAX_BROKEN_MS } from "./availability.ts";

/** Objects of one API or selection, as an inventory reads them. */
export interface ApiObjects {
  /** Changes with every change of the objects. Different objects never have the same version. */
  readonly version: number;
  values(): Iterable<MetadataObject>;
  /**
   * Returns how many of them came from this consumer cluster with this Grant. Objects that name no
   * Grant count for each Grant of the cluster. With the boundary of the Grant, only those count
   * that no other tenant can have claimed: they are in the boundary, or name the Grant and are in
   * no boundary at all.
   */
  countOf(consumerUid: string, grant: string, boundary?: string): number;
  /** Returns how long the watch has been broken; undefined while it works. */
  brokenForMs(): number | undefined;
}

/** What an `ApiWatch` works with. */
export interface ApiWatchOptions {
  readonly kube: KubeClient;
  /** Finds the source to watch; undefined if there is no such API. */
  readonly findSource: (signal: AbortSignal) => Promise<FollowSource<MetadataObject> | undefined>;
  /** How long callers wait for the first list. */
  readonly firstSyncMs: number;
}

const byConsumer: IndexFunction<MetadataObject> = ({ metadata: { annotations } }) => {
  const uid = annotations?.[ANNOTATIONS.consumerClusterUid];
  return uid ? [consumerKey(uid, annotations[ANNOTATIONS.connection])] : [];
};

/** Names a cluster and one of its Grants. The name of a Grant has no slash. */
const consumerKey = (uid: string, grant = ""): string => `${grant}/${uid}`;

let lastVersion = 0;

/** When to retry an API that has a CRD but is not served yet. */
const LOOK_AGAIN = { baseMs: 100, capMs: 5_000 };

/** The objects of an API that does not exist. */
export const NOTHING: ApiObjects = {
  version: 0,
  values: () => [],
  countOf: () => 0,
  brokenForMs: () => undefined,
};

/** One metadata-only watch, from its opening until it is closed or its API disappears. */
export class ApiWatch {
  readonly #options: ApiWatchOptions;
  readonly #stop = new AbortController();
  readonly #run: Promise<void>;
  #firstSync: FirstSync;
  #cache: Cache<MetadataObject, "consumer"> | undefined;
  #objects: ApiObjects | undefined;
  #failure: unknown;
  #overSince: number | undefined;

  constructor(options: ApiWatchOptions) {
    this.#options = options;
    this.#firstSync = new FirstSync(options.firstSyncMs);
    this.#run = this.#follow(this.#stop.signal);
  }

  /** When the watch ended, by `performance.now()`; undefined while it watches. */
  get overSince(): number | undefined {
    return this.#overSince;
  }

  /** Why there are no objects to show. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * Returns the objects: none for an API that does not exist, undefined if they cannot be listed.
   * Only callers in the first seconds of the watch wait.
   */
  async objects(signal?: AbortSignal): Promise<ApiObjects | undefined> {
    if (!this.#cache?.hasSynced) await untilAborted(this.#firstSync.over, signal);
    if (this.#overSince !== undefined) return this.#objects;
    const isCutOff = (this.#cache?.brokenForMs() ?? 0) > MAX_BROKEN_MS;
    return this.#cache?.hasSynced && !isCutOff ? this.#objects : undefined;
  }

  /** Ends the watch. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#run;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(LOOK_AGAIN);
    try {
      while (await this.#watchOnce(signal)) await sleep(backoff.next(), signal);
    } catch (error) {
      this.#failure = error;
      this.#objects = undefined;
    } finally {
      this.#cache = undefined;
      this.#overSince = performance.now();
      this.#firstSync.end();
    }
  }

  /** Watches until the API disappears. Returns whether to try again. */
  async #watchOnce(signal: AbortSignal): Promise<boolean> {
    const source = await this.#options.findSource(signal);
    if (!source) {
      this.#objects = NOTHING;
      return false;
    }
    const cache = await this.#watch(source, signal);
    // A starting API server, or one with a new CRD, serves the API a moment later. The next callers
    // wait for it as the first callers did.
    if (cache.hasSynced) this.#firstSync = new FirstSync(this.#options.firstSyncMs);
    this.#cache = undefined;
    return true;
  }

  async #watch(
    source: FollowSource<MetadataObject>,
    signal: AbortSignal,
  ): Promise<Cache<MetadataObject, "consumer">> {
    using gone = childController(signal);
    const cache = new Cache(source, {
      indexes: { consumer: byConsumer },
      reports: {
        connected: () => {
          this.#failure = undefined;
          this.#firstSync.end();
        },
        disconnected: (error) => {
          this.#failure = error;
          if (isNotFound(error)) gone.abort();
          else if (isRefused(error)) this.#firstSync.end();
        },
      },
    });
    this.#cache = cache;
    this.#objects = new CachedObjects(cache);
    await cache.run(this.#options.kube, gone.signal);
    return cache;
  }
}

/** The time during which callers wait for the first complete list. */
class FirstSync {
  readonly #ended = Promise.withResolvers<void>();
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(ms: number) {
    this.#timer = setTimeout(this.#ended.resolve, ms);
  }

  get over(): Promise<void> {
    return this.#ended.promise;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#ended.resolve();
  }
}

/** Returns whether waiting would not help. */
const isRefused = (error: unknown): boolean =>
  error instanceof KubeError && [400, 401, 403, 405, 422].includes(error.status);

class CachedObjects implements ApiObjects {
  readonly #cache: Cache<MetadataObject, "consumer">;
  version = ++lastVersion;

  constructor(cache: Cache<MetadataObject, "consumer">) {
    this.#cache = cache;
    cache.onChange(() => this.version = ++lastVersion);
  }

  *values(): Iterable<MetadataObject> {
    for (const object of this.#cache.values()) if (isWanted(object)) yield object;
  }

  countOf(consumerUid: string, grant: string, boundary?: string): number {
    const [nameless, named] = [consumerKey(consumerUid), consumerKey(consumerUid, grant)];
    if (boundary !== undefined) {
      return this.#countIn([boundary], nameless) + this.#countIn([boundary, ""], named);
    }
    return this.#cache.count("consumer", nameless) + this.#cache.count("consumer", named);
  }

  /** Counts the objects in these boundaries; an empty text stands for all other places. */
  #countIn(boundaries: readonly string[], key: string): number {
    let count = 0;
    for (const { metadata: { namespace = "" } } of this.#cache.find("consumer", key)) {
      if (boundaries.includes(isBoundaryName(namespace) ? namespace : "")) count++;
    }
    return count;
  }

  brokenForMs(): number | undefined {
    return this.#cache.brokenForMs();
  }
}

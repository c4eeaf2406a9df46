import type { FieldManager } from "../api/names.ts";
import { untilAborted } from "../time/until_aborted.ts";
import type { KubeClient } from "./client.ts";
import { follow, type FollowSource, type FollowTiming } from "./follow.ts";
import { type Crowd, type CrowdedNamespace, Held } from "./held.ts";
import type { MetadataObject } from "./metadata.ts";
import { keyText, type ObjectKey } from "./paths.ts";

/** What became of one object: created without `before`, deleted without `after`. */
export interface Change<T> {
  readonly before?: T;
  readonly after?: T;
  /** Who of this process wrote it and told us; the watch then stays silent about it. */
  readonly writer?: FieldManager;
}

/** Values under which an object can be found. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** Reports what a cache cannot handle itself. */
export interface CacheReports {
  /** The watch failed, and is being tried again. */
  disconnected?(error: unknown): void;
  /** The watch stands (again). */
  connected?(): void;
  /** An object could not be read, or a listener threw. */
  failed?(error: unknown): void;
}

/** How a cache is set up. */
export interface CacheOptions<T extends MetadataObject, Index extends string> {
  readonly indexes?: Record<Index, IndexFunction<T>>;
  readonly reports?: CacheReports;
  readonly timing?: FollowTiming;
  /** Bounds what one namespace may take; without it everything is held. */
  readonly crowd?: Crowd<T>;
}

type Waiter<T> = (object: T | undefined) => void;

/** The objects of a kind as the API server reports them, kept current by a watch. */
export class Cache<T extends MetadataObject, Index extends string = never> {
  readonly #source: FollowSource<T>;
  readonly #options: CacheOptions<T, Index>;
  readonly #indexes = new Map<string, Map<string, Map<string, T>>>();
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #waiters = new Map<string, Set<Waiter<T>>>();
  readonly #synced = Promise.withResolvers<void>();
  /** Versions that we wrote and the watch has not reached yet. */
  readonly #learned = new Map<string, string>();
  /** How far the watch is. */
  #seen = "";
  readonly #objects: Held<T>;
  /** The list that is being received; what is held stays as it is until the end of it. */
  #incoming: Held<T> | undefined;
  #hasSynced = false;
  #broken: { readonly since: number; readonly end: PromiseWithResolvers<void> } | undefined;

  constructor(source: FollowSource<T>, options: CacheOptions<T, Index> = {}) {
    this.#source = source;
    this.#options = options;
    this.#objects = new Held(options.crowd);
    for (const name in options.indexes) this.#indexes.set(name, new Map());
  }

  /** Follows the API server until the signal aborts. */
  async run(client: KubeClient, signal: AbortSignal): Promise<void> {
    await follow(
      client,
      this.#source,
      {
        begin: () => void (this.#incoming = new Held(this.#options.crowd)),
        end: (version) => this.#replace(version),
        upsert: (object, isNew) => {
          if (this.#incoming) return receive(this.#incoming, object, isNew);
          const { resourceVersion } = object.metadata;
          if (this.#isNews(keyText(object.metadata), resourceVersion)) this.#set(object, { isNew });
        },
        remove: (key, resourceVersion) => {
          if (this.#incoming) return this.#incoming.delete(key);
          if (this.#isNews(keyText(key), resourceVersion)) this.#remove(key);
        },
        connected: () => {
          this.#broken?.end.resolve();
          this.#broken = undefined;
          this.#options.reports?.connected?.();
        },
        disconnected: (error) => {
          this.#broken ??= { since: performance.now(), end: Promise.withResolvers() };
          this.#options.reports?.disconnected?.(error);
        },
        unreadable: (error) => this.#options.reports?.failed?.(error),
      },
      signal,
      this.#options.timing,
    );
  }

  /** Whether a complete list has arrived. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** For how long the watch has been broken; undefined while it stands. */
  brokenForMs(): number | undefined {
    return this.#broken && performance.now() - this.#broken.since;
  }

  /** Resolves once the watch stands, at once unless it is broken. */
  async whenConnected(signal?: AbortSignal): Promise<void> {
    if (this.#broken) await untilAborted(this.#broken.end.promise, signal);
  }

  /** Resolves once a complete list has arrived. */
  async whenSynced(signal?: AbortSignal): Promise<void> {
    if (this.#hasSynced) return;
    await untilAborted(this.#synced.promise, signal);
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(keyText(key));
  }

  /** The namespaces of which only a part is held, see `CacheOptions.crowd`. */
  get crowded(): readonly CrowdedNamespace[] {
    return this.#objects.crowded;
  }

  /** How far the watch is: every change up to this resourceVersion has been taken in. */
  get version(): string {
    return this.#seen;
  }

  /** All objects, in no particular order. */
  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  /** The objects that an index holds under a value. */
  find(index: Index, value: string): IterableIterator<T> {
    return this.#indexes.get(index)?.get(value)?.values() ?? [].values();
  }

  /** How many objects an index holds under a value. */
  count(index: Index, value: string): number {
    return this.#indexes.get(index)?.get(value)?.size ?? 0;
  }

  /**
   * Takes over what the API server answered to a write of ours, so that the next look sees it.
   * The raw object is decoded as the watch would; the watch then brings nothing new.
   */
  learn(raw: unknown, writer: FieldManager): void {
    const object = this.#source.decode(raw);
    if (!object) return;
    const key = keyText(object.metadata);
    const version = object.metadata.resourceVersion;
    const before = this.#objects.get(key)?.metadata.resourceVersion;
    // What the watch has passed it has told, the end of this object perhaps included.
    if (!version || !isLater(version, this.#seen)) return;
    if (before && !isLater(version, before)) return;
    this.#learned.set(key, version);
    this.#set(object, { isNew: true, writer });
  }

  /** Calls back for every change from now on, in order; returns how to stop. */
  onChange(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves with the object as soon as it satisfies the predicate, at once if it does already. */
  async waitFor(
    key: ObjectKey,
    predicate: (object: T) => boolean,
    signal: AbortSignal,
  ): Promise<T> {
    return await this.#waitUntil(
      keyText(key),
      (object) => object !== undefined && predicate(object) ? { value: object } : undefined,
      signal,
    );
  }

  /** Resolves as soon as there is no object of that key, or one with another UID. */
  async waitForAbsence(
    key: ObjectKey,
    uid: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#waitUntil(
      keyText(key),
      (object) =>
        !object || (uid && object.metadata.uid !== uid) ? { value: undefined } : undefined,
      signal,
    );
  }

  #waitUntil<R>(
    key: string,
    judge: (object: T | undefined) => { value: R } | undefined,
    signal: AbortSignal,
  ): Promise<R> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const waiters = this.#waiters.get(key) ?? new Set();
      const finish = () => {
        waiters.delete(check);
        if (waiters.size === 0 && this.#waiters.get(key) === waiters) this.#waiters.delete(key);
        signal.removeEventListener("abort", onAbort);
      };
      const onAbort = () => {
        finish();
        reject(signal.reason);
      };
      const check = (object: T | undefined) => {
        let verdict;
        try {
          verdict = judge(object);
        } catch (error) {
          finish();
          return reject(error);
        }
        if (!verdict) return;
        finish();
        resolve(verdict.value);
      };
      waiters.add(check);
      this.#waiters.set(key, waiters);
      signal.addEventListener("abort", onAbort, { once: true });
      // Before the first list, absence means nothing.
      if (this.#hasSynced || this.#objects.has(key)) check(this.#objects.get(key));
    });
  }

  /** Notes how far the watch is; false while it still reports a time before a write of ours. */
  #isNews(key: string, version = ""): boolean {
    if (isLater(version, this.#seen)) this.#seen = version;
    const learned = this.#learned.get(key);
    if (learned === undefined) return true;
    if (isLater(learned, version)) return false;
    this.#learned.delete(key);
    return true;
  }

  #replace(version: string): void {
    const incoming = this.#incoming;
    if (!incoming) return;
    this.#incoming = undefined;
    this.#learned.clear();
    this.#seen = version;
    for (const object of [...this.#objects.values()]) {
      if (!incoming.has(keyText(object.metadata))) this.#remove(object.metadata);
    }
    for (const object of incoming.values()) this.#set(object, { isNew: true });
    this.#objects.adoptDropped(incoming);
    if (this.#hasSynced) return;
    this.#hasSynced = true;
    this.#synced.resolve();
    for (const key of [...this.#waiters.keys()]) this.#wake(key);
  }

  #set(object: T, { isNew, writer }: { isNew: boolean; writer?: FieldManager }): void {
    const key = keyText(object.metadata);
    const before = this.#objects.get(key);
    if (before && sameVersion(before, object)) return;
    this.#objects.set(object, { isNew });
    if (before) this.#unindex(key, before);
    this.#index(key, object);
    this.#announce(key, {
      ...(before ? { before } : {}),
      after: object,
      ...(writer ? { writer } : {}),
    });
    if (before) return;
    for (const excess of this.#objects.excessIn(object.metadata.namespace ?? "")) {
      this.#objects.drop(excess);
      this.#forget(excess);
    }
  }

  #remove(key: ObjectKey): void {
    const before = this.#objects.get(keyText(key));
    this.#objects.delete(key);
    if (before) this.#forget(before);
  }

  #forget(object: T): void {
    const key = keyText(object.metadata);
    this.#unindex(key, object);
    this.#announce(key, { before: object });
  }

  #index(key: string, object: T): void {
    for (const [name, index] of this.#indexes) {
      for (const value of this.#valuesFor(name as Index, object)) {
        const found = index.get(value);
        if (found) found.set(key, object);
        else index.set(value, new Map([[key, object]]));
      }
    }
  }

  #unindex(key: string, object: T): void {
    for (const [name, index] of this.#indexes) {
      for (const value of this.#valuesFor(name as Index, object)) {
        const found = index.get(value);
        found?.delete(key);
        if (found?.size === 0) index.delete(value);
      }
    }
  }

  #valuesFor(name: Index, object: T): readonly string[] {
    try {
      return this.#options.indexes?.[name](object) ?? [];
    } catch (error) {
      this.#options.reports?.failed?.(error);
      return [];
    }
  }

  #announce(key: string, change: Change<T>): void {
    this.#wake(key);
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#options.reports?.failed?.(error);
      }
    }
  }

  #wake(key: string): void {
    for (const waiter of [...this.#waiters.get(key) ?? []]) waiter(this.#objects.get(key));
  }
}

/** Adds to a list that is being received, which is thinned out like what is held. */
function receive<T extends MetadataObject>(incoming: Held<T>, object: T, isNew: boolean): void {
  incoming.set(object, { isNew });
  for (const excess of incoming.excessIn(object.metadata.namespace ?? "")) incoming.drop(excess);
}

/** Compares resourceVersions, which are whole numbers of growing length. */
export const isLater = (a: string, b: string): boolean =>
  a.length === b.length ? a > b : a.length > b.length;

const sameVersion = (a: MetadataObject, b: MetadataObject): boolean =>
  a.metadata.resourceVersion === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid;

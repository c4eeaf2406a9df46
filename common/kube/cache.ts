import type { FieldManager } from "../api/names.ts";
import { untilAborted } from "../time/wait.ts";
import type { KubeClient } from "./client.ts";
import { follow, type FollowSource, type FollowTiming } from "./follow.ts";
import { type Crowd, type CrowdedNamespace, Held } from "./held.ts";
import { Indexes, type IndexFunction } from "./indexes.ts";
import { KubeError } from "./kube_error.ts";
import type { MetadataObject } from "./metadata.ts";
import { keyText, type ObjectKey } from "./paths.ts";
import { Waiters } from "./waiters.ts";

/** A change of one object: created without `before`, deleted without `after`. */
export interface Change<T> {
  /** The object's key, see `keyText`. */
  readonly key: string;
  readonly before?: T;
  readonly after?: T;
  /** The part of this process that wrote it. The watch does not report such a change again. */
  readonly writer?: FieldManager;
}

/** Called with events that a cache cannot handle itself. */
export interface CacheReports {
  /** The watch failed, and is retried. */
  disconnected?(error: unknown): void;
  /** The watch is open, for the first time or again. */
  connected?(): void;
  /** An object could not be read, or a listener threw. */
  failed?(error: unknown): void;
}

/** How a cache is set up. */
export interface CacheOptions<T extends MetadataObject, Index extends string> {
  readonly indexes?: Record<Index, IndexFunction<T>>;
  readonly reports?: CacheReports;
  readonly timing?: FollowTiming;
  /** Bounds the objects held of one namespace. By default all are held. */
  readonly crowd?: Crowd<T>;
  /** The most objects held. By default all are held. */
  readonly most?: Most;
}

/** Bounds the objects of a cache. */
export interface Most {
  readonly objects: number;
  /**
   * Further ones are ignored until the next list. Or they are refused: then the server is reported
   * as disconnected, and asked again.
   */
  readonly further: "ignored" | "refused";
}

/** The objects of a kind as the API server reports them, kept current by a watch. */
export class Cache<T extends MetadataObject, Index extends string = never> {
  readonly #source: FollowSource<T>;
  readonly #options: CacheOptions<T, Index>;
  readonly #indexes: Indexes<T, Index>;
  readonly #listeners = new Set<(change: Change<T>) => void>();
  readonly #waiters = new Waiters<T>();
  readonly #synced = Promise.withResolvers<void>();
  /** Versions that we wrote and the watch has not reported yet. */
  readonly #learned = new Map<string, string>();
  /** The newest resourceVersion that the watch has reported. */
  #seen = "";
  readonly #objects: Held<T>;
  /** The list that is being received. It replaces the held objects when it is complete. */
  #incoming: Held<T> | undefined;
  #hasSynced = false;
  #broken: { readonly since: number; readonly end: PromiseWithResolvers<void> } | undefined;

  constructor(source: FollowSource<T>, options: CacheOptions<T, Index> = {}) {
    this.#source = source;
    this.#options = options;
    this.#objects = new Held(options.crowd);
    this.#indexes = new Indexes(
      options.indexes ?? {},
      (error) => this.#options.reports?.failed?.(error),
    );
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
          const key = keyText(object.metadata);
          if (!this.#admits(key)) return false;
          const { resourceVersion } = object.metadata;
          if (this.#incoming) receive(this.#incoming, key, object, isNew);
          else if (this.#isNews(key, resourceVersion)) this.#set(key, object, { isNew });
          return true;
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

  /** Returns for how long the watch has been broken; undefined while it is open. */
  brokenForMs(): number | undefined {
    return this.#broken && performance.now() - this.#broken.since;
  }

  /** Resolves once the watch is open. */
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

  /** Returns an object by the text of its key, see `keyText`. */
  at(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** The namespaces of which only some objects are held, see `CacheOptions.crowd`. */
  get crowded(): readonly CrowdedNamespace[] {
    return this.#objects.crowded;
  }

  /** The resourceVersion up to which the cache has every change. */
  get version(): string {
    return this.#seen;
  }

  /** Iterates over all objects, in no particular order. */
  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  /** Iterates over the objects that an index holds under a value. */
  find(index: Index, value: string): IterableIterator<T> {
    return this.#indexes.find(index, value);
  }

  /** Counts the objects that an index holds under a value. */
  count(index: Index, value: string): number {
    return this.#indexes.count(index, value);
  }

  /**
   * Stores the API server's response to a write of ours, so that the next read sees it. Its watch
   * event then changes nothing.
   */
  learn(raw: unknown, writer: FieldManager): void {
    const object = this.#source.decode(raw);
    if (!object) return;
    const key = keyText(object.metadata);
    const version = object.metadata.resourceVersion;
    const before = this.#objects.get(key)?.metadata.resourceVersion;
    // The watch has already reported this version, and perhaps the deletion after it.
    if (!version || !isLater(version, this.#seen)) return;
    if (before && !isLater(version, before)) return;
    this.#learned.set(key, version);
    this.#set(key, object, { isNew: true, writer });
  }

  /** Calls the listener for every change from now on, in order. Returns a function that stops it. */
  onChange(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves with the object once it satisfies the predicate. */
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

  /** Resolves once the object is gone, or another one with another UID has its key. */
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

  async #waitUntil<R>(
    key: string,
    judge: (object: T | undefined) => { readonly value: R } | undefined,
    signal: AbortSignal,
  ): Promise<R> {
    return await this.#waiters.wait(key, judge, (check) => {
      // Before the first list, absence means nothing.
      if (this.#hasSynced || this.#objects.has(key)) check(this.#objects.get(key));
    }, signal);
  }

  /** Returns whether there is room for an object. */
  #admits(key: string): boolean {
    const { most } = this.#options;
    const held = this.#incoming ?? this.#objects;
    if (!most || held.size < most.objects || held.has(key)) return true;
    if (most.further === "ignored") return false;
    const { plural } = this.#source.type;
    throw new KubeError(`Cannot watch ${plural}: there are more than ${most.objects}`, {
      status: 0,
      reason: "TooManyObjects",
    });
  }

  /** Records the version. Returns false for events that are older than a write of ours. */
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
    for (const [key, { metadata }] of [...this.#objects.entries()]) {
      if (!incoming.has(key)) this.#remove(metadata);
    }
    for (const [key, object] of incoming.entries()) this.#set(key, object, { isNew: true });
    this.#objects.adoptDropped(incoming);
    if (this.#hasSynced) return;
    this.#hasSynced = true;
    this.#synced.resolve();
    for (const key of this.#waiters.keys) this.#waiters.wake(key, this.#objects.get(key));
  }

  #set(key: string, object: T, { isNew, writer }: { isNew: boolean; writer?: FieldManager }): void {
    const before = this.#objects.get(key);
    if (before && sameVersion(before, object)) return;
    this.#objects.set(key, object, { isNew });
    if (before) this.#indexes.remove(key, before);
    this.#indexes.add(key, object);
    this.#announce({
      key,
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
    this.#indexes.remove(key, object);
    this.#announce({ key, before: object });
  }

  #announce(change: Change<T>): void {
    this.#waiters.wake(change.key, change.after);
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#options.reports?.failed?.(error);
      }
    }
  }
}

/** Adds an object to a list that is being received, and drops the excess of its namespace. */
function receive<T extends MetadataObject>(
  incoming: Held<T>,
  key: string,
  object: T,
  isNew: boolean,
): void {
  incoming.set(key, object, { isNew });
  for (const excess of incoming.excessIn(object.metadata.namespace ?? "")) incoming.drop(excess);
}

/** Returns whether resourceVersion `a` is later than `b`. Both are whole numbers of any length. */
export const isLater = (a: string, b: string): boolean =>
  a.length === b.length ? a > b : a.length > b.length;

const sameVersion = (a: MetadataObject, b: MetadataObject): boolean =>
  a.metadata.resourceVersion === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid;

import type { KubeObject, ResourceType } from "../api/resources.ts";
import { Backoff } from "../time/backoff.ts";
import { sleep } from "../time/wait.ts";
import { type KubeClient, type Selection, withKind } from "./client.ts";
import { isExpired, isSilence, KubeError } from "./kube_error.ts";
import {
  type KeepMetadata,
  METADATA_LIST,
  type MetadataObject,
  reduceMetadata,
  withoutBookkeeping,
} from "./metadata.ts";
import type { ObjectKey } from "./paths.ts";
import { endsInitialEvents, watch, type WatchTarget } from "./watch.ts";

/** The objects to follow. `decode` returns undefined for items to ignore. */
export interface FollowSource<T extends MetadataObject> extends WatchTarget {
  readonly decode: (item: unknown) => T | undefined;
}

/** A source that ignores no item. */
export interface CompleteSource<T extends MetadataObject> extends FollowSource<T> {
  readonly decode: (item: unknown) => T;
}

/** Called with every change, in order. */
export interface FollowHandlers<T extends MetadataObject> {
  /** A complete list begins. Every object follows as an `upsert`. */
  begin(): void;
  /** The list is complete. Objects that were not in it are gone. */
  end(resourceVersion: string): void;
  /**
   * `isNew` is false if the server said that the object existed before. Returns false if there is
   * no room for the object.
   */
  upsert(object: T, isNew: boolean): boolean;
  /** `resourceVersion` is that of the deletion. */
  remove(key: ObjectKey, resourceVersion: string): void;
  /** The watch is open: events arrive as they happen. */
  connected(): void;
  /** The watch or list failed. It is retried until the signal aborts. */
  disconnected(error: unknown): void;
  /** One object could not be decoded and was left out. */
  unreadable(error: unknown): void;
}

/** Timing of a follower; tests shorten it. */
export interface FollowTiming {
  /** The longest silence. Bookmarks usually come every 60 s, so the connection may be dead. */
  readonly silenceMs: number;
  readonly backoff: { readonly baseMs: number; readonly capMs: number };
}

const DEFAULT_TIMING: FollowTiming = { silenceMs: 90_000, backoff: { baseMs: 100, capMs: 5_000 } };
/** A watch that was open this long resets the back-off. */
const STEADY_MS = 1_000;

/** More pages than any list of ours has. Further ones are read slowly. */
const MANY_PAGES = 1_000;
const PAGE_PAUSE_MS = 100;

/** Follows whole objects of a kind. */
export const wholeObjects = <T extends KubeObject>(
  type: ResourceType<T>,
  selection: Selection = {},
): CompleteSource<T> => ({
  type,
  selection,
  metadataOnly: false,
  decode: (item) => withoutBookkeeping(withKind(type, item)),
});

/** Follows the metadata of a kind, reduced to the fields that we use. */
export const metadataObjects = (
  type: ResourceType,
  selection: Selection = {},
  keep: KeepMetadata = {},
): CompleteSource<MetadataObject> => ({
  type,
  selection,
  metadataOnly: true,
  decode: (item) => reduceMetadata(item, keep),
});

/**
 * Reports the objects of a kind, then every change, until the signal aborts. Resumes a broken watch
 * at its last version, lists again when that version has expired, and backs off while it fails.
 */
export async function follow<T extends MetadataObject>(
  client: KubeClient,
  source: FollowSource<T>,
  handlers: FollowHandlers<T>,
  signal: AbortSignal,
  timing: FollowTiming = DEFAULT_TIMING,
): Promise<void> {
  const follower = new Follower(client, source, handlers, timing);
  while (!signal.aborted) await follower.watchOnce(signal);
}

class Follower<T extends MetadataObject> {
  readonly #client: KubeClient;
  readonly #source: FollowSource<T>;
  readonly #handlers: FollowHandlers<T>;
  readonly #timing: FollowTiming;
  readonly #backoff: Backoff;
  #standsSince: number | undefined;
  /** The version at which the next watch continues; undefined if a list must come first. */
  #resourceVersion: string | undefined;
  /** Whether the server can send the initial objects within the watch. Older ones refuse. */
  #streamsLists = true;

  constructor(
    client: KubeClient,
    source: FollowSource<T>,
    handlers: FollowHandlers<T>,
    timing: FollowTiming,
  ) {
    this.#client = client;
    this.#source = source;
    this.#handlers = handlers;
    this.#timing = timing;
    this.#backoff = new Backoff(timing.backoff);
  }

  async watchOnce(signal: AbortSignal): Promise<void> {
    this.#standsSince = undefined;
    const resumes = this.#resourceVersion !== undefined;
    let wait: number | undefined;
    try {
      if (this.#resourceVersion === undefined && !this.#streamsLists) await this.#list(signal);
      await this.#watch(signal);
      if (this.#wasSteady()) return this.#backoff.reset();
    } catch (error) {
      if (signal.aborted) return;
      if (this.#wasSteady()) this.#backoff.reset();
      // Some servers send no bookmarks while nothing happens. Only the next watch tells.
      if (this.#standsSince !== undefined && isSilence(error)) return;
      if (isExpired(error)) this.#resourceVersion = undefined;
      const needsPages = refusesStreaming(error) || error instanceof NoRoomError;
      if (this.#resourceVersion === undefined && needsPages && this.#streamsLists) {
        this.#streamsLists = false;
        return;
      }
      this.#handlers.disconnected(error);
      if (resumes && isExpired(error)) return; // the server answers: list again at once
      wait = error instanceof KubeError ? error.retryAfterMs : undefined;
    }
    await sleep(wait ?? this.#backoff.next(), signal).catch(() => {});
  }

  async #watch(signal: AbortSignal): Promise<void> {
    let isInitial = this.#resourceVersion === undefined;
    if (isInitial) this.#handlers.begin();
    await watch(this.#client, this.#source, this.#resourceVersion, this.#timing.silenceMs, signal, {
      opened: () => {
        if (!isInitial) this.#stands();
      },
      event: (type, item) => {
        if (type === "BOOKMARK") {
          if (isInitial && endsInitialEvents(item)) {
            this.#handlers.end(versionOf(item) ?? "");
            isInitial = false;
            this.#stands();
          }
        } else {
          // Changes, also deletes, may come before the bookmark that ends the initial objects.
          const object = type === "DELETED" ? undefined : this.#decode(item);
          if (!object) this.#handlers.remove(keyOfRaw(item), versionOf(item) ?? "");
          else if (!this.#handlers.upsert(object, type === "ADDED") && isInitial) {
            throw new NoRoomError();
          }
        }
        if (!isInitial) this.#resourceVersion = versionOf(item) ?? this.#resourceVersion;
      },
    });
  }

  #stands(): void {
    this.#standsSince = performance.now();
    this.#handlers.connected();
  }

  /** A starting server answers lists, but ends watches right after it accepted them. */
  #wasSteady(): boolean {
    return this.#standsSince !== undefined && performance.now() - this.#standsSince >= STEADY_MS;
  }

  /** Lists page by page. A list may have no end, so it is cut short when there is no room. */
  async #list(signal: AbortSignal): Promise<void> {
    const { type, selection, metadataOnly } = this.#source;
    const accept = metadataOnly ? { accept: METADATA_LIST } : {};
    let next = "";
    let resourceVersion = "";
    let hasRoom = true;
    this.#handlers.begin();
    for (let pages = 1; hasRoom; pages++) {
      const page = await this.#client.listPage(type, selection, { next, signal, ...accept });
      for (const item of page.items) {
        const object = this.#decode(item);
        if (object) hasRoom &&= this.#handlers.upsert(object, true);
      }
      ({ resourceVersion, continue: next } = page);
      if (next === "") break;
      if (pages >= MANY_PAGES) await sleep(PAGE_PAUSE_MS, signal);
    }
    this.#handlers.end(resourceVersion);
    this.#resourceVersion = resourceVersion;
  }

  #decode(item: unknown): T | undefined {
    try {
      if (!hasMetadata(item)) throw new TypeError("an object has no metadata");
      return this.#source.decode(item);
    } catch (error) {
      this.#handlers.unreadable(error);
      return undefined;
    }
  }
}

/** The initial objects of a watch are too many, so only a list that can be cut short will do. */
class NoRoomError extends Error {}

const refusesStreaming = (error: unknown): boolean =>
  error instanceof KubeError && [400, 405, 406, 415, 422, 501].includes(error.status);

const hasMetadata = (item: unknown): boolean => {
  const { metadata } = (item ?? {}) as { metadata?: unknown };
  return typeof metadata === "object" && metadata !== null;
};

const keyOfRaw = (item: unknown): ObjectKey => {
  const { name = "", namespace } = (item as { metadata?: Partial<ObjectKey> } | null)?.metadata ??
    {};
  return { name, namespace };
};

const versionOf = (item: unknown): string | undefined =>
  (item as { metadata?: { resourceVersion?: string } } | null)?.metadata?.resourceVersion;

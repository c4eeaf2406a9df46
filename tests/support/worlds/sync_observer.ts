import { ANNOTATIONS } from "../../../common/api/names.ts";
import { isDeleting } from "../../../common/api/resources.ts";
import { Cache, type Change } from "../../../common/kube/cache.ts";
import { wholeObjects } from "../../../common/kube/follow.ts";
import { keyOf, keyText } from "../../../common/kube/paths.ts";
import type { Bound, KonnectorWorld } from "./konnector_world.ts";
import type { Instance } from "./two_sides.ts";

/** The field of a test's status that names the object which the status is for. */
export const FOR_UID = "forUid";

/**
 * Watches the objects of an API on both clusters, past the proxies, and notes what must never
 * happen whatever else breaks: a status of another object, two copies of one object, the end of a
 * copy whose object lives, a change of a foreign object.
 */
export class SyncObserver implements AsyncDisposable {
  readonly #violations: string[] = [];
  readonly #world: Pick<KonnectorWorld, "consumer" | "provider">;
  readonly #bound: Pick<Bound, "type">;
  readonly #copies: Cache<Instance>;
  readonly #objects: Cache<Instance>;
  readonly #life = new AbortController();
  readonly #running: Promise<unknown>;
  /** Copies that ended, until their objects were looked at. */
  readonly #ended: Instance[] = [];
  /** Copies that a test deleted itself. */
  readonly #excused = new Set<string>();
  /** UIDs and versions of foreign objects. */
  readonly #foreign = new Map<string, string>();

  private constructor(
    world: Pick<KonnectorWorld, "consumer" | "provider">,
    bound: Pick<Bound, "type">,
  ) {
    this.#world = world;
    this.#bound = bound;
    this.#copies = new Cache(wholeObjects(bound.type));
    this.#objects = new Cache(wholeObjects(bound.type));
    this.#copies.onChange((change) => this.#copyChanged(change));
    this.#objects.onChange(({ after }) => this.#objectChanged(after));
    const { signal } = this.#life;
    this.#running = Promise.all([
      this.#copies.run(world.provider.kube, signal),
      this.#objects.run(world.consumer.kube, signal),
    ]);
  }

  /** Starts to watch the objects of an API that both clusters have. */
  static async start(
    world: Pick<KonnectorWorld, "consumer" | "provider">,
    bound: Pick<Bound, "type">,
  ): Promise<SyncObserver> {
    const observer = new SyncObserver(world, bound);
    const soon = AbortSignal.timeout(30_000);
    await Promise.all([observer.#copies, observer.#objects].map((each) => each.whenSynced(soon)));
    return observer;
  }

  /** Takes note of an object of the provider that no konnector may change or delete. */
  guard({ metadata: { uid = "", resourceVersion = "" } }: Instance): void {
    this.#foreign.set(uid, resourceVersion);
  }

  /** Forgets a foreign object. */
  release({ metadata: { uid = "" } }: Instance): void {
    this.#foreign.delete(uid);
  }

  /** Allows a copy to end, because the test ends it. */
  excuse({ metadata: { uid = "" } }: Instance): void {
    this.#excused.add(uid);
  }

  /** Returns what went wrong so far. */
  async violations(): Promise<readonly string[]> {
    for (const copy of this.#ended.splice(0)) await this.#judgeEnd(copy);
    return this.#violations;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    await this.#running.catch(() => {});
  }

  #objectChanged(object: Instance | undefined): void {
    const source = object?.status?.[FOR_UID];
    if (!object || source === undefined || source === object.metadata.uid) return;
    this.#violations.push(`${textOf(object)} has the status of ${source}`);
  }

  #copyChanged({ before, after }: Change<Instance>): void {
    const version = after && this.#foreign.get(after.metadata.uid ?? "");
    if (version !== undefined && version !== after?.metadata.resourceVersion) {
      this.#violations.push(`the foreign object ${textOf(after as Instance)} was changed`);
    }
    if (before && before.metadata.uid !== after?.metadata.uid) this.#ended.push(before);
    const source = after && sourceOf(after);
    if (!after || !source) return;
    for (const other of this.#copies.values()) {
      if (sourceOf(other) !== source || other.metadata.uid === after.metadata.uid) continue;
      this.#violations.push(`${source} has the copies ${textOf(other)} and ${textOf(after)}`);
    }
  }

  /** An object that lives later has lived when its copy ended. */
  async #judgeEnd(copy: Instance): Promise<void> {
    const { uid = "" } = copy.metadata;
    if (this.#foreign.has(uid)) this.#violations.push(`the foreign ${textOf(copy)} was deleted`);
    if (this.#excused.has(uid)) return;
    const object = await this.#world.consumer.kube.find(this.#bound.type, keyOf(copy));
    if (!object || object.metadata.uid !== sourceOf(copy) || isDeleting(object)) return;
    this.#violations.push(`the copy ${textOf(copy)} was deleted, and its object lives`);
  }
}

const sourceOf = ({ metadata }: Instance): string | undefined =>
  metadata.annotations?.[ANNOTATIONS.consumerObjectUid];

const textOf = ({ metadata }: Instance): string => `${keyText(metadata)} (${metadata.uid})`;

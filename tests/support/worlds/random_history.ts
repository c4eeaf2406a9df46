import {
  ANNOTATIONS,
  CORE_CLEANUP_FINALIZER,
  LABELS,
  SYNCER_FINALIZER,
} from "../../../common/api/names.ts";
import { CLUSTER_BINDINGS, CRDS, hasFinalizer, isDeleting } from "../../../common/api/resources.ts";
import { keyText } from "../../../common/kube/paths.ts";
import { Konnector } from "../programs/konnector.ts";
import { keyIn } from "./konnector_steps.ts";
import { type Bound, type KonnectorWorld } from "./konnector_world.ts";
import { type Instance, isGone } from "./two_sides.ts";
import { changeExactly, isLabelled, MARK_CHANGES } from "./mark_changes.ts";
import { chooser, lateStatus, randomFrom } from "./random_from.ts";
import { FOR_UID, type SyncObserver } from "./sync_observer.ts";

const NAMES = ["a", "b", "c", "d"];
/** The konnector makes a deleted copy again at once only twice in ten minutes. */
const MOST_LOSSES = 2;
const MOST_FOREIGN = 3;

/** Does random things to the objects of one bound API, and knows how they must end. */
export class RandomHistory implements AsyncDisposable {
  /** What was done, for the report of a failure. */
  readonly done: string[] = [];
  readonly #random: () => number;
  /** The content that the users of the consumer want, by key. */
  readonly #wanted = new Map<string, Instance["spec"]>();
  /** Foreign objects of the provider, by key. */
  readonly #foreign = new Map<string, Instance>();
  readonly #losses = new Map<string, number>();
  /** Works beside the konnector of the world. */
  #second: Konnector | undefined;

  constructor(
    private readonly world: KonnectorWorld,
    private readonly bound: Bound,
    private readonly observer: SyncObserver,
    private readonly namespaces: readonly string[],
    seed: number,
  ) {
    this.#random = randomFrom(seed);
  }

  /** Does one random thing. */
  async step(): Promise<void> {
    const [, name, act] = chooser(ACTIONS)(this.#random());
    const place = { ...this.bound, namespace: this.#pick(this.namespaces) };
    const object = this.#pick(NAMES);
    try {
      await act.call(this, place, object);
      this.done.push(`${name} ${place.namespace}/${object}`);
    } catch (error) {
      const status = lateStatus(error);
      if (status === undefined) throw error;
      this.done.push(`(${name} ${place.namespace}/${object}: ${status})`);
    }
  }

  /** Returns how both clusters differ from how they must end. */
  async differences(): Promise<string[]> {
    const { consumer, provider } = this.world;
    const [objects, copies] = await Promise.all(
      [consumer, provider].map(({ kube }) => kube.list(this.bound.type)),
    ) as [Instance[], Instance[]];
    const found: string[] = [];
    const byKey = new Map(copies.map((copy) => [keyText(copy.metadata), copy]));
    for (const key of this.#wanted.keys()) {
      if (!objects.some(({ metadata }) => keyText(metadata) === key)) {
        found.push(`${key} is missing`);
      }
    }
    for (const object of objects) {
      const key = keyText(object.metadata);
      const copy = byKey.get(key);
      byKey.delete(key);
      found.push(...this.#faultsOf(object, copy).map((fault) => `${key} ${fault}`));
    }
    for (const [key, copy] of byKey) {
      if (this.#foreign.get(key)?.metadata.uid !== copy.metadata.uid) found.push(`${key} is left`);
    }
    for (const key of this.#foreign.keys()) {
      if (!copies.some(({ metadata }) => keyText(metadata) === key)) {
        found.push(`the foreign ${key} is gone`);
      }
    }
    return found;
  }

  #faultsOf(object: Instance, copy: Instance | undefined): string[] {
    const key = keyText(object.metadata);
    const wanted = this.#wanted.get(key);
    if (isDeleting(object)) return ["is not gone yet"];
    if (!wanted) return ["is there, and nobody wants it"];
    const faults: string[] = [];
    if (!isSame(object.spec, wanted)) faults.push(`is ${JSON.stringify(object.spec)}`);
    if (!hasFinalizer(object, SYNCER_FINALIZER)) faults.push("has no finalizer");
    const mark = conflictOf(object);
    const foreign = this.#foreign.get(key);
    if (foreign) {
      if (!mark) faults.push("has no mark of its conflict");
      if (copy?.metadata.resourceVersion !== foreign.metadata.resourceVersion) {
        faults.push("was written over a foreign object");
      }
      return faults;
    }
    if (mark) faults.push(`has the mark ${mark}`);
    if (!copy) return [...faults, "has no copy"];
    if (copy.metadata.annotations?.[ANNOTATIONS.consumerObjectUid] !== object.metadata.uid) {
      faults.push("has the copy of another object");
    }
    if (!isLabelled(copy)) faults.push("has a copy without our labels");
    if (!isSame(copy.spec, wanted)) faults.push(`has the copy ${JSON.stringify(copy.spec)}`);
    if (copy.status && !isSame(copy.status, object.status)) faults.push("lacks its status");
    return faults;
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)] as T;
  }

  #spec(): { size: number; color?: string } {
    const size = Math.floor(this.#random() * 1_000);
    return this.#random() < 0.5 ? { size } : { size, color: this.#pick(["red", "blue"]) };
  }

  async create(place: Bound, name: string): Promise<void> {
    const spec = this.#spec();
    const { type, namespace } = place;
    const { group, version, kind } = type;
    const object = {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name, namespace },
      spec,
    } as Instance;
    const { kube } = this.world.consumer;
    const { metadata } = await kube.create(type, object, "xbind-installer");
    this.#wanted.set(keyText(metadata), spec);
    this.#losses.delete(keyText(metadata));
  }

  async edit(place: Bound, name: string): Promise<void> {
    const spec = this.#spec();
    const object = await this.world.edit("consumer", place, name, { spec });
    if (!isDeleting(object)) this.#wanted.set(keyText(object.metadata), spec);
  }

  async remove(place: Bound, name: string): Promise<void> {
    await this.world.consumer.kube.delete(place.type, keyIn(place, name));
    this.#wanted.delete(`${place.namespace}/${name}`);
  }

  async show(place: Bound, name: string): Promise<void> {
    const copy = await this.#copyOf(place, name);
    const source = copy?.metadata.annotations?.[ANNOTATIONS.consumerObjectUid];
    if (!copy || !source) return;
    const status = { [FOR_UID]: source, at: Math.floor(this.#random() * 1_000) };
    const steps = [
      { op: "test", path: "/metadata/uid", value: copy.metadata.uid },
      { op: "add", path: "/status", value: status },
    ] as const;
    const { kube } = this.world.provider;
    const options = { manager: "xbind-installer", part: "status" } as const;
    await kube.jsonPatch(place.type, keyIn(place, name), steps, options);
  }

  async meddle(place: Bound, name: string): Promise<void> {
    if (!await this.#copyOf(place, name)) return;
    await this.world.edit("provider", place, name, { spec: { size: -1 } });
  }

  async loseCopy(place: Bound, name: string): Promise<void> {
    const key = `${place.namespace}/${name}`;
    const copy = await this.#copyOf(place, name);
    const losses = this.#losses.get(key) ?? 0;
    if (!copy || losses >= MOST_LOSSES) return;
    this.observer.excuse(copy);
    this.#losses.set(key, losses + 1);
    const { uid = "" } = copy.metadata;
    await this.world.provider.kube.delete(place.type, keyIn(place, name), { uid });
  }

  /** Changes our marks on a copy that is at rest. Without its owner it becomes a foreign object. */
  async unmark(place: Bound, name: string): Promise<void> {
    const copy = await this.#copyAtRest(place, name);
    if (!copy || this.#foreign.size >= MOST_FOREIGN) return;
    const { isRepaired, steps } = this.#pick(MARK_CHANGES);
    const at = keyIn(place, name);
    const changed = await changeExactly(this.world.provider.kube, place.type, copy, steps());
    if (isRepaired) return;
    this.observer.guard(changed);
    this.#foreign.set(keyText(copy.metadata), changed);
    await this.world.onConsumer(place.type, at, (object) => conflictOf(object) !== undefined);
  }

  /** Takes our finalizer off an object by hand, and waits until it is back. */
  async unfinalize(place: Bound, name: string): Promise<void> {
    const at = keyIn(place, name);
    const { kube } = this.world.consumer;
    const object = await kube.get(place.type, at);
    if (isDeleting(object) || !hasFinalizer(object, SYNCER_FINALIZER)) return;
    const step = { op: "remove", path: "/metadata/finalizers" } as const;
    await changeExactly(kube, place.type, object, [step]);
    await this.world.onConsumer(place.type, at, (found) => hasFinalizer(found, SYNCER_FINALIZER));
  }

  /** Makes a foreign object in a free place, or takes one away. */
  async intrude(place: Bound, name: string): Promise<void> {
    const key = `${place.namespace}/${name}`;
    const known = this.#foreign.get(key);
    if (known) {
      this.observer.excuse(known);
      this.observer.release(known);
      this.#foreign.delete(key);
      return await this.world.provider.kube.delete(place.type, keyIn(place, name));
    }
    if (this.#foreign.size >= MOST_FOREIGN || await this.#copyOf(place, name)) return;
    const { group, version, kind } = place.type;
    const metadata = { name, namespace: place.namespace };
    const object = { apiVersion: `${group}/${version}`, kind, metadata, spec: { size: 7 } };
    await this.world.provider.makeNamespace(place.namespace);
    const { kube } = this.world.provider;
    const foreign = await kube.create(place.type, object as Instance, "xbind-installer");
    this.observer.guard(foreign);
    this.#foreign.set(key, foreign);
  }

  /** Takes the export label off the CRD, or puts it back: what is bound stays bound. */
  async label({ api }: Bound): Promise<void> {
    const exported = this.#random() < 0.5 ? "true" : null;
    const labels = { [LABELS.exported]: exported };
    await this.world.provider.edit(CRDS, { name: api }, { metadata: { labels } });
  }

  async kill(): Promise<void> {
    await this.world.restart();
  }

  /** Starts a second konnector, or ends it. */
  async pair(): Promise<void> {
    const { consumerPlane, kubeconfig } = this.world;
    if (this.#second) await this[Symbol.asyncDispose]();
    else this.#second = await Konnector.start(consumerPlane, { kubeconfig });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#second?.[Symbol.asyncDispose]();
    this.#second = undefined;
  }

  /** Unbinds, which takes all objects of the API away, and binds again. */
  async rebind({ api, name }: Bound): Promise<void> {
    const labels = { [LABELS.exported]: "true" };
    await this.world.provider.edit(CRDS, { name: api }, { metadata: { labels } });
    const { kube } = this.world.consumer;
    await kube.delete(CLUSTER_BINDINGS, { name });
    if (this.#random() < 0.5) await this.kill();
    await isGone(kube, CLUSTER_BINDINGS, { name }, { timeoutMs: 60_000 });
    await isGone(kube, CRDS, { name: api });
    this.#wanted.clear();
    await this.world.apply([this.bound.bundle[2] as Instance]);
    const bound = await this.world.ready({ name });
    if (!bound.metadata.finalizers?.includes(CORE_CLEANUP_FINALIZER)) {
      throw new Error("no finalizer");
    }
  }

  /** Returns the copy of an object; undefined for foreign objects. */
  async #copyOf(place: Bound, name: string): Promise<Instance | undefined> {
    const found = await this.world.provider.kube.find(place.type, keyIn(place, name));
    const isForeign = this.#foreign.has(`${place.namespace}/${name}`);
    return found && !isForeign ? found : undefined;
  }

  /** Returns the copy of an object if no konnector has anything left to write to it. */
  async #copyAtRest(place: Bound, name: string): Promise<Instance | undefined> {
    if (this.#second) return undefined; // it may write what the first one has written
    const copy = await this.#copyOf(place, name);
    const object = await this.world.consumer.kube.find(place.type, keyIn(place, name));
    if (!copy || !object || isDeleting(copy) || isDeleting(object)) return undefined;
    const { [ANNOTATIONS.consumerGeneration]: generation } = copy.metadata.annotations ?? {};
    const isAtRest = generation === String(object.metadata.generation) &&
      this.#faultsOf(object, copy).length === 0;
    return isAtRest ? copy : undefined;
  }
}

type Action = (this: RandomHistory, place: Bound, name: string) => Promise<void>;

/** What may happen, and how often compared with others. */
const ACTIONS: readonly (readonly [number, string, Action])[] = [
  [20, "create", RandomHistory.prototype.create],
  [20, "edit", RandomHistory.prototype.edit],
  [10, "delete", RandomHistory.prototype.remove],
  [12, "status of", RandomHistory.prototype.show],
  [3, "meddle with", RandomHistory.prototype.meddle],
  [3, "delete the copy of", RandomHistory.prototype.loseCopy],
  [3, "foreign", RandomHistory.prototype.intrude],
  [4, "change the marks of", RandomHistory.prototype.unmark],
  [3, "take the finalizer off", RandomHistory.prototype.unfinalize],
  [2, "label", RandomHistory.prototype.label],
  [3, "kill", RandomHistory.prototype.kill],
  [2, "second konnector", RandomHistory.prototype.pair],
  [0.7, "unbind and bind", RandomHistory.prototype.rebind],
];

const conflictOf = ({ metadata }: Instance): string | undefined =>
  metadata.annotations?.[ANNOTATIONS.conflict];

const isSame = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b);

const canonical = (value: unknown): string =>
  JSON.stringify(Object.entries(value ?? {}).sort(([a], [b]) => a < b ? -1 : 1));

import { LABELS } from "../../../common/api/names.ts";
import { KubeError } from "../../../common/kube/kube_error.ts";
import type { ObjectKey } from "../../../common/kube/paths.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { KonnectorWorld } from "./konnector_world.ts";
import { chooser, lateStatus, randomFrom } from "./random_from.ts";
import { DIRECTIONS, type RelatedObject, RelatedSteps, RESOURCES, rule } from "./related_steps.ts";

/** The place of a source and of its copy. */
interface Place {
  readonly from: "consumer" | "provider";
  readonly to: "consumer" | "provider";
  readonly resource: typeof RESOURCES[number];
  readonly key: ObjectKey;
}

const NAMES = ["a", "b"];

/** Rules for all Secrets and ConfigMaps with this label, in both directions. */
export const rulesFor = (label: string) =>
  DIRECTIONS.flatMap(([direction]) =>
    RESOURCES.map((resource) => rule(resource, direction, { label }))
  );

/** Does random things to Secrets and ConfigMaps under such rules, and knows how they must end. */
export class RandomCopies {
  /** What was done, for the report of a failure. */
  readonly done: string[] = [];
  /** Sources and foreign objects that the konnector changed. */
  readonly violations: string[] = [];
  readonly #random: () => number;
  readonly #places: readonly Place[];
  readonly #related: RelatedSteps;
  /** The versions of sources and of foreign objects as the test left them, by side and place. */
  readonly #left = new Map<string, string | undefined>();
  readonly #foreign = new Set<Place>();

  constructor(
    private readonly world: KonnectorWorld,
    private readonly label: string,
    namespace: string,
    seed: number,
  ) {
    this.#random = randomFrom(seed);
    this.#related = new RelatedSteps(world);
    this.#places = DIRECTIONS.flatMap(([direction, from, to]) =>
      RESOURCES.flatMap((resource) =>
        NAMES.map((name): Place => {
          const key = { namespace, name: `${direction.toLowerCase()}-${name}` };
          return { from, to, resource, key };
        })
      )
    );
  }

  /** Does one random thing that a user or a provider does to a source. */
  async useSource(): Promise<void> {
    await this.#act(SOURCE_ACTIONS);
  }

  /** Does one random thing to a source or a copy, or to the konnector. */
  async step(): Promise<void> {
    await this.#act([...SOURCE_ACTIONS, ...MEDDLING]);
  }

  /** Starts another konnector in place of the running one. */
  async kill(): Promise<void> {
    await this.world.restart();
  }

  /** Returns how both clusters differ from how they must end. */
  async differences(): Promise<string[]> {
    const faults = await Promise.all(this.#places.map((place) => this.#faultsOf(place)));
    return faults.flat();
  }

  async #act(actions: readonly Action[]): Promise<void> {
    const [, name, act] = chooser(actions)(this.#random());
    const place = this.#places[Math.floor(this.#random() * this.#places.length)] as Place;
    await this.#compare(place);
    try {
      await act.call(this, place);
      this.done.push(`${name} ${textOf(place)}`);
    } catch (error) {
      // Without a clear answer, the change may have happened or not. Both are fine.
      const isUnclear = !(error instanceof KubeError) || error.status >= 500;
      if (!isUnclear && lateStatus(error) === undefined) throw error;
      this.done.push(`(${name} ${textOf(place)}: ${error})`);
    }
    for (const side of this.#guardedSides(place)) {
      this.#left.set(`${side} ${textOf(place)}`, await this.#versionOn(side, place));
    }
  }

  /** Only the test changes sources and foreign objects. */
  async #compare(place: Place): Promise<void> {
    for (const side of this.#guardedSides(place)) {
      const known = this.#left.get(`${side} ${textOf(place)}`);
      const present = await this.#versionOn(side, place);
      if (present !== known) {
        this.violations.push(`${textOf(place)} on the ${side}: ${known} became ${present}`);
      }
    }
  }

  #guardedSides(place: Place): Place["from"][] {
    return this.#foreign.has(place) ? [place.from, place.to] : [place.from];
  }

  async #versionOn(side: Place["from"], { resource, key }: Place): Promise<string | undefined> {
    const { found } = await eventually(`${resource} ${key.name} is read`, async () => {
      return { found: await this.#related.find(side, resource, key) };
    }, { timeoutMs: 60_000 });
    return found?.metadata.resourceVersion;
  }

  async #faultsOf(place: Place): Promise<string[]> {
    const { from, to, resource, key } = place;
    await this.#compare(place);
    if (this.#foreign.has(place)) return [];
    const [source, copy] = await Promise.all([
      this.#related.find(from, resource, key),
      this.#related.find(to, resource, key),
    ]);
    const isWanted = source?.metadata.labels?.[this.label] === "yes";
    if (!isWanted) return copy ? [`${textOf(place)} has a copy, and no rule selects it`] : [];
    if (!copy) return [`${textOf(place)} has no copy`];
    const isCopied = copy.data?.["value"] === source.data?.["value"] &&
      copy.metadata.labels?.[LABELS.managed] === "true";
    return isCopied ? [] : [`${textOf(place)} has another copy: ${JSON.stringify(copy)}`];
  }

  #value(): string {
    return String(Math.floor(this.#random() * 1_000));
  }

  async create({ from, resource, key }: Place): Promise<void> {
    const labels = this.#random() < 0.8 ? [this.label] : [];
    await this.#related.put(from, resource, key, this.#value(), { labels });
  }

  async edit({ from, resource, key }: Place): Promise<void> {
    await this.#related.write(from, resource, key, this.#value());
  }

  /** Gives a source the label, or another one in its place. */
  async relabel({ from, resource, key }: Place): Promise<void> {
    const value = { [this.#random() < 0.5 ? this.label : "other"]: "yes" };
    await this.#related.patch(from, resource, key, [{
      op: "add",
      path: "/metadata/labels",
      value,
    }]);
  }

  async remove({ from, resource, key }: Place): Promise<void> {
    await this.#related.delete(from, resource, key);
  }

  async meddle(place: Place): Promise<void> {
    if (!await this.#copyOf(place)) return;
    await this.#related.write(place.to, place.resource, place.key, "meddled");
  }

  async loseCopy(place: Place): Promise<void> {
    if (!await this.#copyOf(place)) return;
    await this.#related.delete(place.to, place.resource, place.key);
  }

  /** Makes a foreign object in the place of a copy, or takes it away. */
  async intrude(place: Place): Promise<void> {
    const { to, resource, key } = place;
    if (this.#foreign.has(place)) {
      await this.#related.delete(to, resource, key);
      this.#foreign.delete(place);
    } else {
      await this.#related.put(to, resource, key, "foreign");
      this.#foreign.add(place);
    }
  }

  /** Returns the copy in a place; undefined if it is a foreign object. */
  async #copyOf(place: Place): Promise<RelatedObject | undefined> {
    if (this.#foreign.has(place)) return undefined;
    return await this.#related.find(place.to, place.resource, place.key);
  }
}

const textOf = ({ from, resource, key }: Place): string => `${resource} ${key.name} of the ${from}`;

type Action = readonly [
  weight: number,
  name: string,
  act: (this: RandomCopies, place: Place) => Promise<void>,
];

/** What may happen to a source, and how often compared with others. */
const SOURCE_ACTIONS: readonly Action[] = [
  [20, "create", RandomCopies.prototype.create],
  [15, "edit", RandomCopies.prototype.edit],
  [8, "relabel", RandomCopies.prototype.relabel],
  [8, "delete", RandomCopies.prototype.remove],
];

const MEDDLING: readonly Action[] = [
  [4, "meddle with the copy of", RandomCopies.prototype.meddle],
  [4, "delete the copy of", RandomCopies.prototype.loseCopy],
  [4, "foreign", RandomCopies.prototype.intrude],
  [2, "kill", RandomCopies.prototype.kill],
];

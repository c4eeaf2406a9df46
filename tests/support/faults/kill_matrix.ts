import type { KubeObject } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { isNotFound } from "../../../common/kube/kube_error.ts";
import type { Arrival, Fault } from "./fault_proxy.ts";
import { OneAtATime } from "./one_at_a_time.ts";
import { VERBS, writeOf } from "./write_gate.ts";

/** A cluster that a konnector writes to. */
export type Side = "consumer" | "provider";

/** One kind of write of a konnector. */
export interface WriteKind {
  readonly name: string;
  readonly on: Side;
  /** Such as `patch objects` or `create leases`; `objects` stands for all bound APIs. */
  readonly what: string;
  /** Tells it from other writes of that verb and resource by the body of the request. */
  readonly body?: RegExp;
  /** Tells it from other writes by the name of the object. */
  readonly object?: string;
  /** Whether one object may be changed by it several times. */
  readonly isRepeated?: boolean;
}

/** Resources that are not of a bound API. */
const OWN_RESOURCES = [
  "bindings",
  "clusterbindings",
  "configmaps",
  "connections",
  "customresourcedefinitions",
  "events",
  "leases",
  "namespaces",
  "secrets",
];

/** Writes a verb and a resource as a `WriteKind` names them. */
export function whatText(verb: string, resource = "", subresource?: string): string {
  const kind = OWN_RESOURCES.includes(resource) ? resource : "objects";
  return `${verb} ${kind}${subresource ? `/${subresource}` : ""}`;
}

/**
 * Kills a konnector once right before and once right after the first write of each kind. It lets
 * writes through one at a time, and after a kill none until it is opened for the next process.
 */
export class KillMatrix {
  /** Writes that no kind describes. */
  readonly unnamed = new Set<string>();
  readonly #kinds: readonly WriteKind[];
  readonly #kill: () => void;
  /** How often a write of a kind changed an object. */
  readonly #effects = new Map<string, number>();
  readonly #struck = new Set<string>();
  readonly #turns = new OneAtATime();
  #isShut = false;

  constructor(kinds: readonly WriteKind[], kill: () => void) {
    this.#kinds = kinds;
    this.#kill = kill;
  }

  /** The points at which no process was killed yet. */
  get missing(): string[] {
    return this.#kinds.flatMap(({ name }) => [`before ${name}`, `after ${name}`])
      .filter((point) => !this.#struck.has(point));
  }

  /** Objects that a write of one kind changed more than once. */
  get repeated(): string[] {
    const mayRepeat = (effect: string) =>
      this.#kinds.some(({ name, isRepeated }) => isRepeated && effect.startsWith(`${name}: `));
    return [...this.#effects].filter(([effect, count]) => count > 1 && !mayRepeat(effect))
      .map(([effect, count]) => `${effect}, ${count} times`);
  }

  /** Opens the gate for the next process. */
  open(): void {
    this.#isShut = false;
  }

  /** Chooses the faults of the proxy of one side; the client reads what a write changed. */
  faults(side: Side, kube: KubeClient): (arrival: Arrival) => Fault | undefined {
    return (arrival) => {
      const write = mutationOf(arrival);
      return write &&
        this.#turns.gate((forward, body) => this.#pass(side, kube, write, body, forward));
    };
  }

  /** Returns whether the konnector may see the answer. */
  async #pass(
    side: Side,
    kube: KubeClient,
    write: Mutation,
    body: string,
    forward: () => Promise<number>,
  ): Promise<boolean> {
    if (this.#isShut) return false;
    const kind = this.#kindOf(side, write, body);
    if (!kind) {
      this.unnamed.add(`${side}: ${write.what} ${body.slice(0, 300)}`);
      return await forward() > 0;
    }
    if (this.#strikes(`before ${kind.name}`)) return false;
    const target = write.what.startsWith("create ") ? `${write.path}/${nameIn(body)}` : write.path;
    const version = await versionAt(kube, target);
    const status = await forward();
    if (status >= 300 || status === 0) return status > 0;
    if (await versionAt(kube, target) !== version) {
      const effect = `${kind.name}: ${target}`;
      this.#effects.set(effect, (this.#effects.get(effect) ?? 0) + 1);
    }
    return !this.#strikes(`after ${kind.name}`);
  }

  #kindOf(side: Side, { what, name }: Mutation, body: string): WriteKind | undefined {
    return this.#kinds.find((kind) =>
      kind.on === side && kind.what === what && (kind.body?.test(body) ?? true) &&
      (kind.object ?? name) === name
    );
  }

  #strikes(point: string): boolean {
    if (this.#struck.has(point)) return false;
    this.#struck.add(point);
    this.#isShut = true;
    this.#kill();
    return true;
  }
}

interface Mutation {
  readonly what: string;
  readonly name: string;
  /** The path of the object, or of its collection. */
  readonly path: string;
}

/** Returns the write of a request, Events too; undefined for reads and questions about rights. */
function mutationOf(arrival: Arrival): Mutation | undefined {
  const [path = ""] = arrival.path.split("?");
  const verb = VERBS[arrival.method];
  if (verb && /\/events(\/[^/]+)?$/.test(path)) return { what: `${verb} events`, name: "", path };
  const write = writeOf(arrival);
  if (!write) return undefined;
  const [does = "", resource = ""] = write.what.split(" ");
  const [plural, subresource] = resource.split("/");
  return { what: whatText(does, plural, subresource), name: write.name, path };
}

const nameIn = (body: string): string =>
  (JSON.parse(body) as Partial<KubeObject>).metadata?.name ?? "";

/** Reads the version of the object at a path; undefined if there is none. */
async function versionAt(kube: KubeClient, path: string): Promise<string | undefined> {
  const ofObject = path.replace(/\/status$/, "");
  try {
    const { metadata } = await kube.request<KubeObject>("GET", ofObject);
    return metadata?.resourceVersion;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

import type { Arrival, Fault } from "./fault_proxy.ts";
import { OneAtATime } from "./one_at_a_time.ts";

/** A write on its way to the API server. */
export interface Write {
  /** Such as `create secrets` or `patch grants/status`. */
  readonly what: string;
  /** The name of the object; empty for a create. */
  readonly name: string;
}

/** The moment right before or right after the API server stores a write. */
export interface KillPoint {
  readonly when: "before" | "after";
  readonly what: string;
  /** Which of several equal writes; the first by default. */
  readonly nth?: number;
}

/** Every point at which a process that makes these writes can be killed. */
export const killPoints = (writes: readonly string[]): KillPoint[] =>
  writes.flatMap((what, index) => {
    const nth = writes.slice(0, index + 1).filter((write) => write === what).length;
    return [{ when: "before", what, nth }, { when: "after", what, nth }];
  });

/** A point as text, for the name of a test. */
export const pointText = ({ when, what, nth = 1 }: KillPoint): string =>
  nth === 1 ? `${when} ${what}` : `${when} ${what} (${nth})`;

interface Ambush {
  readonly point: KillPoint;
  readonly kill: () => void;
  /** How many of these writes have arrived. */
  arrived: number;
}

/** The verbs of requests that write, by method. */
export const VERBS: Readonly<Record<string, string>> = {
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/**
 * Lets the writes of a backend through a fault proxy one at a time, in order of their arrival, so
 * that a kill cuts them off at an exact point. Events do not count, because the backend does not
 * wait for them.
 */
export class WriteGate {
  /** The writes that were forwarded, in order; tests may empty it. */
  readonly passed: string[] = [];
  /** The writes that were answered with 409. */
  readonly conflicts: string[] = [];
  /** Runs before each write is forwarded. */
  inspect: (write: Write) => Promise<void> = () => Promise.resolve();
  readonly #turns = new OneAtATime();
  #ambush: Ambush | undefined;
  #isShut = false;

  /** Chooses the faults of the proxy. */
  readonly faults = (arrival: Arrival): Fault | undefined => {
    const write = writeOf(arrival);
    return write && this.#turns.gate((forward) => this.#pass(write, forward));
  };

  /** Waits until every write that has arrived is answered; its effect may be visible earlier. */
  async settled(): Promise<void> {
    await this.#turns.settled();
  }

  /** Kills at this point; then the gate is shut until it is opened. */
  ambush(point: KillPoint, kill: () => void): void {
    this.#ambush = { point, kill, arrived: 0 };
  }

  /** Whether the kill has happened. */
  get isShut(): boolean {
    return this.#isShut;
  }

  /** Opens the gate for the next process. */
  open(): void {
    this.#isShut = false;
    this.#ambush = undefined;
  }

  async #pass(write: Write, forward: () => Promise<number>): Promise<boolean> {
    if (this.#isShut) return false;
    const ambush = this.#awaited(write);
    if (ambush?.point.when === "before") return this.#strike(ambush);
    await this.inspect(write);
    const status = await forward();
    this.passed.push(write.what);
    if (status === 409) this.conflicts.push(write.what);
    return ambush ? this.#strike(ambush) : true;
  }

  /** Returns the ambush if it waits for this write. */
  #awaited({ what }: Write): Ambush | undefined {
    const ambush = this.#ambush;
    if (!ambush || ambush.point.what !== what) return undefined;
    return ++ambush.arrived === (ambush.point.nth ?? 1) ? ambush : undefined;
  }

  #strike({ kill }: Ambush): false {
    kill();
    this.#isShut = true;
    return false;
  }
}

const NAMESPACED = /^namespaces\/[^/]+\/(?=[^/]+)(?!(?:status|finalize)$)/;

/** Returns the write of a request; undefined for reads, reviews and Events. */
export function writeOf({ method, path }: Pick<Arrival, "method" | "path">): Write | undefined {
  const verb = VERBS[method];
  const [, rest = ""] = /^\/(?:api|apis\/[^/]+)\/[^/]+\/([^?]+)/.exec(path) ?? [];
  const [resource = "", name = "", subresource] = rest.replace(NAMESPACED, "").split("/");
  if (!verb || resource === "" || /^events$|reviews$/.test(resource)) return undefined;
  return { what: `${verb} ${subresource ? `${resource}/${subresource}` : resource}`, name };
}

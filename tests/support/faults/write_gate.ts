import type { Arrival, Fault } from "./fault_proxy.ts";

/** A write on its way to the API server. */
export interface Write {
  /** Such as `create secrets` or `patch grants/status`. */
  readonly what: string;
  /** Of the object; empty when it is being created. */
  readonly name: string;
}

/** Right before a write reaches the API server, or right after that has stored it. */
export interface KillPoint {
  readonly when: "before" | "after";
  readonly what: string;
  /** Which of several such writes; the first by default. */
  readonly nth?: number;
}

/** Every point at which a process that makes these writes can be killed. */
export const killPoints = (writes: readonly string[]): KillPoint[] =>
  writes.flatMap((what, index) => {
    const nth = writes.slice(0, index + 1).filter((write) => write === what).length;
    return [{ when: "before", what, nth }, { when: "after", what, nth }];
  });

/** A point in words, for the name of a test. */
export const pointText = ({ when, what, nth = 1 }: KillPoint): string =>
  nth === 1 ? `${when} ${what}` : `${when} ${what} (${nth})`;

interface Ambush {
  readonly point: KillPoint;
  readonly kill: () => void;
  /** How many such writes have arrived. */
  arrived: number;
}

const VERBS: Record<string, string> = {
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/**
 * Lets the writes of a backend through a fault proxy one at a time, in order of their arrival, so
 * that a kill always leaves an exact beginning of them. Events are not counted: nobody waits for
 * them.
 */
export class WriteGate {
  /** What got through, in order; tests may empty it. */
  readonly passed: string[] = [];
  /** Which of these the API server refused as coming too late (409). */
  readonly conflicts: string[] = [];
  /** Looks at each write before it is forwarded. */
  inspect: (write: Write) => Promise<void> = () => Promise.resolve();
  #turn: Promise<void> = Promise.resolve();
  #ambush: Ambush | undefined;
  #isShut = false;

  /** For the proxy. */
  readonly faults = (arrival: Arrival): Fault | undefined => {
    const write = writeOf(arrival);
    if (!write) return undefined;
    const before = this.#turn;
    const { promise, resolve: leave } = Promise.withResolvers<void>();
    this.#turn = promise;
    return {
      kind: "gate",
      pass: async (forward) => {
        await before;
        try {
          return await this.#pass(write, forward);
        } finally {
          leave();
        }
      },
    };
  };

  /** Resolves when every write that has arrived is answered; others may see its effect before. */
  async settled(): Promise<void> {
    await this.#turn;
  }

  /** Kills at that point; from then on nothing gets through until the gate is opened. */
  ambush(point: KillPoint, kill: () => void): void {
    this.#ambush = { point, kill, arrived: 0 };
  }

  /** Whether the kill has happened. */
  get isShut(): boolean {
    return this.#isShut;
  }

  /** Lets everything through, for the next process. */
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

  /** The ambush, if it was laid for this write. */
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

/** Which write a request is; undefined for one that only reads or asks, and for Events. */
export function writeOf({ method, path }: Pick<Arrival, "method" | "path">): Write | undefined {
  const verb = VERBS[method];
  const [, rest = ""] = /^\/(?:api|apis\/[^/]+)\/[^/]+\/([^?]+)/.exec(path) ?? [];
  const [resource = "", name = "", subresource] = rest.replace(NAMESPACED, "").split("/");
  if (!verb || resource === "" || /^events$|reviews$/.test(resource)) return undefined;
  return { what: `${verb} ${subresource ? `${resource}/${subresource}` : resource}`, name };
}

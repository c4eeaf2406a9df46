import type { Arrival, Fault } from "../faults/fault_proxy.ts";

/** Holds back the events of watches through a fault proxy. */
export class HeldWatches {
  #isHeld: (plural: string) => boolean = () => false;

  /** Returns the fault of a watch, for the proxy; undefined for other requests. */
  fault({ isWatch, path }: Arrival): Fault | undefined {
    if (!isWatch) return undefined;
    const [, plural = ""] = /([^/]+)\?/.exec(path) ?? [];
    const late: string[] = [];
    return {
      kind: "lines",
      pass: (line) => {
        late.push(line);
        return this.#isHeld(plural) ? [] : late.splice(0);
      },
    };
  }

  /** Holds the events of all watches, except those of one kind. */
  hold(except?: string): void {
    this.#isHeld = (plural) => plural !== except;
  }

  /** Releases the held events of a watch together with its next event. */
  release(): void {
    this.#isHeld = () => false;
  }
}

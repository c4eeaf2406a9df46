import type { Arrival, Fault } from "../faults/fault_proxy.ts";

/** Watches through a fault proxy whose events can be held back. */
export class HeldWatches {
  #isHeld: (plural: string) => boolean = () => false;

  /** For the proxy: what happens to a watch, nothing for any other request. */
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

  /** Holds what all watches bring, but those of one kind. */
  hold(except?: string): void {
    this.#isHeld = (plural) => plural !== except;
  }

  /** What a watch was held for comes with its next event. */
  release(): void {
    this.#isHeld = () => false;
  }
}

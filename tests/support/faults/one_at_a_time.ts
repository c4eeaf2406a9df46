import type { Fault } from "./fault_proxy.ts";

type Pass = Extract<Fault, { readonly kind: "gate" }>["pass"];

/** Lets requests through a fault proxy one at a time, in order of their arrival. */
export class OneAtATime {
  #turn: Promise<void> = Promise.resolve();

  /** Takes the next turn for a request that arrives now. */
  gate(pass: Pass): Fault {
    const before = this.#turn;
    const { promise, resolve: leave } = Promise.withResolvers<void>();
    this.#turn = promise;
    return {
      kind: "gate",
      pass: async (...request) => {
        await before;
        try {
          return await pass(...request);
        } finally {
          leave();
        }
      },
    };
  }

  /** Waits until every request that has arrived is answered. */
  async settled(): Promise<void> {
    await this.#turn;
  }
}

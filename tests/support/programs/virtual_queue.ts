import assert from "node:assert/strict";
import { Queue } from "../../../common/control/queue.ts";

/** Virtual time for the queue's clock and timers, which passes only on request. */
export class VirtualTime implements Disposable {
  #now = 1_000;
  #timers = new Map<number, { at: number; run: () => void }>();
  #lastId = 0;
  readonly #real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };

  constructor() {
    const setTimeout = (run: () => void, ms: number) => {
      assert.ok(ms >= 0 && ms < 2 ** 31, `no timer can wait ${ms} ms`);
      this.#timers.set(++this.#lastId, { at: this.#now + ms, run });
      return this.#lastId;
    };
    const clearTimeout = (id: number) => this.#timers.delete(id);
    Object.assign(globalThis, { setTimeout, clearTimeout });
  }

  readonly now = (): number => this.#now;

  get timers(): number {
    return this.#timers.size;
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    while (true) {
      const [next] = [...this.#timers].toSorted(([, a], [, b]) => a.at - b.at);
      if (!next || next[1].at > end) break;
      this.#timers.delete(next[0]);
      this.#now = Math.max(this.#now, next[1].at);
      next[1].run();
    }
    this.#now = end;
  }

  [Symbol.dispose](): void {
    Object.assign(globalThis, this.#real);
  }
}

/** A signal that never aborts. */
export const NEVER = new AbortController().signal;

/** Takes all keys that are due now. */
export async function takeAll(queue: Queue): Promise<string[]> {
  const keys: string[] = [];
  while (queue.depth > 0) keys.push(await queue.take(NEVER));
  return keys;
}

/** Creates a queue in virtual time, without jitter in its back-off. */
export function virtualQueue() {
  const time = new VirtualTime();
  const queue = new Queue({ now: time.now, random: () => 1 });
  return { time, queue, [Symbol.dispose]: () => time[Symbol.dispose]() };
}

/** Registers a test of a queue in virtual time. */
export function test(
  name: string,
  run: (env: ReturnType<typeof virtualQueue>) => Promise<void>,
): void {
  Deno.test(name, async () => {
    using env = virtualQueue();
    await run(env);
  });
}

import type { Io } from "./io.ts";
import { spinner } from "./spinner.ts";

/** Shows how far a wait has come. */
export interface Progress extends Disposable {
  readonly show: (text: string) => void;
}

/** Without a terminal, lines come no more often than this. */
const LINE_EVERY_MS = 5_000;

/** Shows a wait as one changing line on a terminal, and as a line every few seconds elsewhere. */
export function progress(io: Pick<Io, "draw" | "say" | "now">, text: string): Progress {
  let [shown, saidMs] = [text, -Infinity];
  const drawn = spinner(io, () => shown);
  return {
    show: (next) => {
      if (next === shown) return;
      shown = next;
      const nowMs = io.now().getTime();
      if (io.draw || nowMs - saidMs < LINE_EVERY_MS) return;
      saidMs = nowMs;
      io.say(`  ${next}`);
    },
    [Symbol.dispose]: () => drawn[Symbol.dispose](),
  };
}

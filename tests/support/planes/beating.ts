import { sleep } from "../../../common/time/wait.ts";

/** Writes a heartbeat again and again until it is disposed. A heartbeat that fails is the last. */
export function beating(beat: () => Promise<unknown>, everyMs: number): AsyncDisposable {
  const stop = new AbortController();
  const run = (async () => {
    while (!stop.signal.aborted) {
      await beat();
      await sleep(everyMs, stop.signal).catch(() => {});
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await run;
    },
  };
}

/** The part of `Deno.stderr` that `stderrLines` uses. */
export interface SyncSink {
  writeSync(bytes: Uint8Array): number;
}

/** Blocks the thread, because a log line must be written before other code runs. */
type Pause = (ms: number) => void;

const RETRIES = 20;
const RETRY_MS = 2;

/**
 * Writes whole lines and never throws. Without a reader, lines are lost. For a slow reader it waits
 * at most 40 ms, then drops lines and counts them.
 */
export const stderrLines = (
  sink: SyncSink = Deno.stderr,
  pause: Pause = sleepSync,
): (line: string) => void => {
  const encoder = new TextEncoder();
  let stalled = false; // the last write failed: do not wait again until one succeeds
  let unfinished = false; // part of a line was written without its end
  let dropped = 0;

  const send = (bytes: Uint8Array): boolean => {
    let offset = 0;
    for (let retries = 0; offset < bytes.length;) {
      try {
        offset += sink.writeSync(bytes.subarray(offset));
      } catch (error) {
        const busy = error instanceof Deno.errors.WouldBlock;
        if (busy && !stalled && retries++ < RETRIES) {
          pause(RETRY_MS);
          continue;
        }
        unfinished ||= offset > 0;
        return false;
      }
    }
    unfinished = false;
    return true;
  };

  return (line) => {
    const lineEnd = unfinished ? "\n" : "";
    const notice = dropped > 0 ? `${dropped} log lines were lost: stderr was blocked\n` : "";
    const sent = send(encoder.encode(`${lineEnd}${notice}${line}\n`));
    stalled = !sent;
    dropped = sent ? 0 : dropped + 1;
  };
};

const sleepSync: Pause = (ms) => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};

/** The part of `Deno.stderr` that writing lines needs. */
export interface SyncSink {
  writeSync(bytes: Uint8Array): number;
}

/** Blocks the thread for some milliseconds; log lines are written before anything else may run. */
type Pause = (ms: number) => void;

const RETRIES = 20;
const RETRY_MS = 2;

/**
 * Writes whole lines at once and never throws: a reader that is gone costs the log, not the
 * process, and a reader that is slow costs at most 40 ms before lines are dropped and counted.
 */
export const stderrLines = (
  sink: SyncSink = Deno.stderr,
  pause: Pause = sleepSync,
): (line: string) => void => {
  const encoder = new TextEncoder();
  let stalled = false; // the last write did not get through: do not wait again until one does
  let unfinished = false; // part of a line is out without its end
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

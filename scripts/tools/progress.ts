/** Reports how far a step is, such as `3 of 9 MB`. */
export type Report = (detail: string) => void;

/** Shows users the current step and its duration. */
export interface Progress {
  /** Shows label, time passed and last report while the work runs; returns its result. */
  run<T>(label: string, work: (report: Report) => Promise<T>): Promise<T>;
  /** Prints a line. */
  note(text: string): void;
}

/** The stream that progress is written to. */
export interface ProgressOutput {
  isTerminal(): boolean;
  writeSync(octets: Uint8Array): number;
}

/** The time passed in milliseconds and a timer, replaceable in tests. */
export interface ProgressClock {
  now(): number;
  /** Calls back repeatedly until the returned function is called. */
  every(ms: number, callback: () => void): () => void;
}

const TERMINAL_EVERY_MS = 1_000;
const PLAIN_EVERY_MS = 30_000;
const CLEAR_LINE = "\r\x1b[K";

const systemClock: ProgressClock = {
  now: () => performance.now(),
  every: (ms, callback) => {
    const timer = setInterval(callback, ms);
    return () => clearInterval(timer);
  },
};

/**
 * One line per step on stderr: rewritten in place each second on a terminal; otherwise a line at
 * the start, one every 30 seconds and one at the end.
 */
export const progressTo = (
  output: ProgressOutput = Deno.stderr,
  clock: ProgressClock = systemClock,
): Progress => {
  const write = (text: string) => {
    let rest = new TextEncoder().encode(text);
    while (rest.length > 0) rest = rest.subarray(output.writeSync(rest));
  };
  const terminal = output.isTerminal();
  return {
    note: (text) => write(`${text}\n`),
    run: async (label, work) => {
      const start = clock.now();
      const seconds = () => `${Math.round((clock.now() - start) / 1000)} s`;
      let detail = "";
      const show = () => {
        const line = `${label} … ${seconds()}${detail}`;
        write(terminal ? `${CLEAR_LINE}${line}` : `${line}\n`);
      };
      const finish = (text: string) => write(`${terminal ? CLEAR_LINE : ""}${label} … ${text}\n`);
      write(terminal ? `${label} …` : `${label} …\n`);
      const stop = clock.every(terminal ? TERMINAL_EVERY_MS : PLAIN_EVERY_MS, show);
      try {
        const result = await work((text) => detail = `, ${text}`);
        finish(`done in ${seconds()}`);
        return result;
      } catch (error) {
        finish(`failed after ${seconds()}`);
        throw error;
      } finally {
        stop();
      }
    },
  };
};

/** Shows nothing. */
export const noProgress: Progress = { run: (_label, work) => work(() => {}), note: () => {} };

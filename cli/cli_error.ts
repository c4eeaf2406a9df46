/** Why a command ended; scripts may rely on these numbers. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  loginNeeded: 3,
  notFound: 4,
  timeout: 5,
  pickupGone: 6,
} as const;

/** What a failure is called inside; only `cli/run_program.ts` turns it into an exit code. */
export type Failure = Exclude<keyof typeof EXIT, "ok">;

/** A failure to tell the person at the terminal: what was tried and why it failed, then what to do. */
export class CliError extends Error {
  override readonly name: string = "CliError";

  constructor(
    readonly failure: Failure,
    message: string,
    /** What to do next, as a sentence or a command. */
    readonly remedy?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

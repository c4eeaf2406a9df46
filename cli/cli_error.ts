/** Exit codes; scripts may rely on these numbers. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  loginNeeded: 3,
  notFound: 4,
  timeout: 5,
  pickupGone: 6,
} as const;

/** The name of a failure; only `cli/run_program.ts` turns it into an exit code. */
export type Failure = Exclude<keyof typeof EXIT, "ok">;

/** A failure to show to the user: the attempt and the reason, then the remedy. */
export class CliError extends Error {
  override readonly name: string = "CliError";

  constructor(
    readonly failure: Failure,
    message: string,
    /** The next step, as a sentence or a command. */
    readonly remedy?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

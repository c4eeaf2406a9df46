/** Exit codes of the build programs. */
export const BUILD_EXIT = {
  ok: 0,
  failed: 1,
  /** Bad arguments or variables; nothing was done. */
  usage: 2,
  /** The bundles are done, but Deno could not get the runtime for executables. */
  noCompileRuntime: 3,
} as const;

/** A build that cannot go on, in one sentence for the person who started it. */
export class BuildError extends Error {
  override readonly name = "BuildError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = BUILD_EXIT.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

import { say } from "../say.ts";

/** Exit codes of the build programs. */
export const BUILD_EXIT = {
  ok: 0,
  failed: 1,
  /** Bad arguments or variables; nothing was done. */
  usage: 2,
  /** The packed scripts are done, but Deno could not get the runtime for executables. */
  noCompileRuntime: 3,
} as const;

/** A build failure with a one-sentence message for the user. */
export class BuildError extends Error {
  override readonly name = "BuildError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = BUILD_EXIT.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** Runs a build program, and returns an exit code. A failure that is not a bug is one line. */
export async function runBuild(what: string, build: () => Promise<number>): Promise<number> {
  try {
    return await build();
  } catch (error) {
    if (error instanceof BuildError) {
      say(error.message, Deno.stderr);
      return error.exitCode;
    }
    if (!isSystemFailure(error)) throw error;
    say(`Cannot build ${what}: ${error.message}`, Deno.stderr);
    return BUILD_EXIT.failed;
  }
}

/** Whether the operating system refused something: a full disk, a missing program, no rights. */
const isSystemFailure = (error: unknown): error is Error =>
  error instanceof Error &&
  ("code" in error || Object.values(Deno.errors).some((kind) => error instanceof kind));

/** Exit code of a process that a signal ended, as shells report it. */
const INTERRUPTED = 130;

/**
 * Runs `make` with a new folder inside a directory, and always removes the folder, also after
 * Ctrl-C. Unfinished results never appear in the directory.
 */
export async function inWorkFolder<Result>(
  dir: string,
  make: (folder: string) => Promise<Result>,
): Promise<Result> {
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  let isInterrupted = false;
  const onSignal = () => {
    isInterrupted = true;
    stopRuns(); // makes `make` fail
  };
  for (const signal of signals) Deno.addSignalListener(signal, onSignal);
  try {
    await Deno.mkdir(dir, { recursive: true });
    const folder = await Deno.makeTempDir({ dir, prefix: ".building-" });
    try {
      return await make(folder);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  } finally {
    for (const signal of signals) Deno.removeSignalListener(signal, onSignal);
    if (isInterrupted) Deno.exit(INTERRUPTED);
  }
}

/** How a run of Deno ended. */
export interface DenoResult {
  readonly success: boolean;
  readonly stderr: string;
}

/** The working directory of a Deno run, and its changes to our environment. */
export interface DenoOptions {
  readonly cwd?: string;
  /** An undefined value removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const running = new Set<Deno.ChildProcess>();
let isStopped = false;

/** Runs this same Deno to its end. */
export async function runDeno(
  args: readonly string[],
  options: DenoOptions = {},
): Promise<DenoResult> {
  if (isStopped) throw new BuildError("Cannot go on: the build was interrupted");
  const env = { ...Deno.env.toObject(), NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1", ...options.env };
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    ...(options.cwd && { cwd: options.cwd }),
    clearEnv: true,
    env: Object.fromEntries(
      Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined),
    ),
  }).spawn();
  running.add(child);
  const { success, stderr } = await child.output().finally(() => running.delete(child));
  return { success, stderr: new TextDecoder().decode(stderr).trim() };
}

/** Kills every run and makes later calls of `runDeno` fail. */
function stopRuns(): void {
  isStopped = true;
  for (const child of running) child.kill("SIGKILL");
}

/** Deno's error message with its causes on one line, without the stack trace. */
export const complaint = ({ stderr }: DenoResult): string =>
  (stderr.split("Stack backtrace")[0] ?? "")
    .trim()
    .replace(/^error: /, "")
    .replace(/\n+Caused by:/, "")
    .replaceAll(/\n\s+\d+: /g, ": ");

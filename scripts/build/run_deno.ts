import { BuildError } from "./build_error.ts";

/** How a run of Deno ended. */
export interface DenoResult {
  readonly success: boolean;
  readonly stderr: string;
}

/** Where Deno is run, and with what besides our own environment. */
export interface DenoOptions {
  readonly cwd?: string;
  /** Nothing as a value removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const running = new Set<Deno.ChildProcess>();
let isStopped = false;

/** Runs this very Deno to its end. */
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

/** Ends every run, and lets no other begin: what needs one fails from now on. */
export function stopRuns(): void {
  isStopped = true;
  for (const child of running) child.kill("SIGKILL");
}

/** What Deno complained about, causes in the same line, without its own stack. */
export const complaint = ({ stderr }: DenoResult): string =>
  (stderr.split("Stack backtrace")[0] ?? "")
    .trim()
    .replace(/^error: /, "")
    .replace(/\n+Caused by:/, "")
    .replaceAll(/\n\s+\d+: /g, ": ");

import { BUILD_EXIT, BuildError } from "./build_error.ts";

/** Runs a build program; a failure that is no bug becomes one line on stderr and an exit code. */
export async function runBuild(what: string, build: () => Promise<number>): Promise<number> {
  try {
    return await build();
  } catch (error) {
    if (error instanceof BuildError) {
      complain(error.message);
      return error.exitCode;
    }
    if (!isSystemFailure(error)) throw error;
    complain(`Cannot build ${what}: ${error.message}`);
    return BUILD_EXIT.failed;
  }
}

/** Whether the operating system refused something: a full disk, a missing program, no rights. */
const isSystemFailure = (error: unknown): error is Error =>
  error instanceof Error &&
  ("code" in error || Object.values(Deno.errors).some((kind) => error instanceof kind));

function complain(line: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
}

import { type Command, CommanderError } from "commander";
import { commandLineOf, normalizeArgs } from "./argv.ts";
import { CliError, EXIT } from "./cli_error.ts";
import type { LoginIo } from "./terminal/io.ts";
import { createProgram } from "./program.ts";

import { createRealIo, InterruptedError } from "./terminal/real_io.ts";

// main.ts loads both in one chunk.
export { createRealIo };

/** The command that shells call for completion. */
const COMPLETE = "__complete";

const AFTER_INTERRUPTION = "Run the command again when you are ready";
const AFTER_BUG = "This should not happen: please report it, with the command that you ran";

/** Runs the command line of `io`, prints a failure, and returns the exit code. */
export const runProgram = async (io: LoginIo): Promise<number> => {
  try {
    await Promise.race([runCommand(io), unhandledFailure()]);
    return EXIT.ok;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return EXIT.failure; // nobody reads stdout
    const { failure, message, remedy } = failureOf(error);
    io.say([{ style: "red", text: "error:" }, ` ${message}`]);
    if (remedy !== undefined) io.say(remedy);
    return EXIT[failure];
  }
};

/** Rejects with an error that no code catches, such as one of a socket or a timer. */
const unhandledFailure = (): Promise<never> =>
  new Promise((_, reject) => {
    const fail = (event: Event, failure: unknown) => {
      event.preventDefault();
      reject(failure);
    };
    globalThis.addEventListener("error", (event) => fail(event, event.error ?? event.message));
    globalThis.addEventListener("unhandledrejection", (event) => fail(event, event.reason));
  });

const failureOf = (error: unknown): CliError => {
  if (error instanceof CliError) return error;
  if (error instanceof InterruptedError) {
    return new CliError("failure", `Cannot finish: ${error.message}`, AFTER_INTERRUPTION);
  }
  const message = error instanceof Error ? error.message : error;
  return new CliError("failure", `Cannot finish: an unexpected failure: ${message}`, AFTER_BUG);
};

const runCommand = async (io: LoginIo): Promise<void> => {
  const program = createProgram(io);
  if (io.args[0] === COMPLETE) {
    const { complete } = await import("./run/complete.ts");
    return await complete(io, program, io.args.slice(1));
  }
  const args = normalizeArgs(io.args, commandLineOf(program));
  try {
    await program.parseAsync(args.length === 0 ? ["--help"] : args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw misused(error, program, args[0]);
  }
};

const misused = (error: CommanderError, program: Command, name: string | undefined): CliError => {
  const command = program.commands.find((each) => each.name() === name);
  const line = command ? `kubectl bind ${command.name()}` : "kubectl bind";
  return new CliError(
    "usage",
    `Cannot run ${line}: ${error.message.replace(/^error: /, "").replaceAll("'", '"')}`,
    `Usage: ${line} ${(command ?? program).usage()}; see: ${line} --help`,
  );
};

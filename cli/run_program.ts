import { type Command, CommanderError } from "commander";
import { normalizeArgs } from "./argv.ts";
import { CliError } from "./cli_error.ts";
import { commandLineOf } from "./command_line_of.ts";
import type { LoginIo } from "./io.ts";
import { createProgram } from "./program.ts";

// All that the entry needs, in one piece to load.
export { paint } from "./paint.ts";
export { createRealIo, InterruptedError } from "./real_io.ts";

/** Asked by shells rather than people, in their own words. */
const COMPLETE = "__complete";

/** Runs the command line of `io`; what goes wrong is a `CliError`. */
export const runProgram = async (io: LoginIo): Promise<void> => {
  const program = createProgram(io);
  if (io.args[0] === COMPLETE) {
    const { complete } = await import("./complete.ts");
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

import { seedRandomness } from "../server/runtime/seed_randomness.ts";
import { VERSION } from "../server/version.ts";
import { CliError, EXIT } from "./cli_error.ts";

async function main(args: readonly string[]): Promise<number> {
  const [first, ...others] = args;
  if (others.length === 0 && (first === "--version" || first === "-v")) {
    // Before anything is loaded: scripts ask for it often.
    Deno.stdout.writeSync(new TextEncoder().encode(`kubectl bind ${VERSION}\n`));
    return EXIT.ok;
  }
  seedRandomness();
  const { createRealIo, InterruptedError, paint, runProgram } = await import("./run_program.ts");
  const io = createRealIo(args);
  try {
    await runProgram(io);
    return EXIT.ok;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return EXIT.failure; // nobody reads on
    const failure = error instanceof CliError
      ? error
      : error instanceof InterruptedError
      ? new CliError("failure", `Cannot finish: ${error.message}`, AFTER_INTERRUPTION)
      : new CliError("failure", `Cannot finish: ${messageOf(error)}`, AFTER_BUG);
    io.say(`${paint(io, "stderr").red("error:")} ${failure.message}`);
    if (failure.remedy !== undefined) io.say(failure.remedy);
    return EXIT[failure.failure];
  }
}

const AFTER_INTERRUPTION = "Run the command again when you are ready";
const AFTER_BUG = "This should not happen: please report it, with the command that you ran";

const messageOf = (error: unknown): string =>
  `an unexpected failure: ${error instanceof Error ? error.message : error}`;

Deno.exit(await main(Deno.args));

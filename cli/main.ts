import { seedRandomness } from "../common/http/seed_randomness.ts";
import { VERSION } from "../common/version.ts";

async function main(args: readonly string[]): Promise<number> {
  const [first, ...others] = args;
  if (others.length === 0 && (first === "--version" || first === "-v")) {
    // Answer before loading anything else, because scripts ask for it often.
    Deno.stdout.writeSync(new TextEncoder().encode(`kubectl bind ${VERSION}\n`));
    return 0;
  }
  seedRandomness();
  const { createRealIo, runProgram } = await import("./run_program.ts");
  return await runProgram(createRealIo(args));
}

Deno.exit(await main(Deno.args));

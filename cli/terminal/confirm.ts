import { CliError } from "../cli_error.ts";
import type { LoginIo } from "./io.ts";

/** Asks a person before something is lost. Fails without a terminal, and without a yes. */
export async function confirm(
  io: LoginIo,
  { question, refusal }: { readonly question: string; readonly refusal: string },
): Promise<void> {
  if (!io.isTerminal.stdin || !io.isTerminal.stderr) {
    throw new CliError("usage", refusal, "If that is right, run the command again with --yes");
  }
  io.say(`${question} [y/N]`);
  for await (const line of io.lines(io.signal)) {
    if (/^y(es)?$/i.test(line.trim())) return;
    break;
  }
  throw new CliError("failure", "Nothing was changed", "Answer y, or use --yes");
}

import { CliError } from "../cli_error.ts";

/** The refusal of something the gateway sent; by then nothing of it was applied. */
export const refused = (what: string, reason: string, remedy = ASK_PROVIDER): CliError =>
  new CliError("failure", `Cannot use ${what} of the gateway: ${reason}`, remedy);

const ASK_PROVIDER = "Nothing of it was applied. Check --server, and ask whoever runs that gateway";

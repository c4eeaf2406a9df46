import { type Command, InvalidArgumentError, Option } from "commander";
import { parseDuration } from "../common/time/duration.ts";

const DEFAULT_TIMEOUT = "2m";

/** Adds the flags that choose the consumer cluster. */
export const withConsumerFlags = (command: Command): Command =>
  command
    .option("--kubeconfig <file>", "the kubeconfig to use (default: KUBECONFIG, ~/.kube/config)")
    .option("--context <name>", "the context in it (default: its current one)");

/** Adds `--dry-run`, `--wait` and `--timeout`; the latter arrives as `timeout` in milliseconds. */
export const withWriteFlags = (command: Command, wait: string): Command =>
  command
    .addOption(dryRunOption("say what would happen, and change nothing anywhere"))
    .option("--wait", wait)
    .addOption(timeoutOption());

/** `--dry-run`, also in the spellings of kubectl, which all mean the same here. */
export const dryRunOption = (description: string): Option =>
  new Option("--dry-run [mode]", description).argParser(parseDryRun);

/** Options as the parser gives them: what is called `timeoutMs` elsewhere comes from `--timeout`. */
export type Parsed<T extends { readonly timeoutMs: number }> = Omit<T, "timeoutMs"> & {
  readonly timeout: number;
};

/** `--timeout`, in milliseconds. */
export const timeoutOption = (): Option =>
  new Option("--timeout <duration>", "give up after this time, such as 30s or 5m")
    .argParser(parseTimeout)
    .default(parseTimeout(DEFAULT_TIMEOUT), DEFAULT_TIMEOUT);

/** `--konnector-image` */
export const imageOption = (): Option =>
  new Option(
    "--konnector-image <image>",
    "the konnector's image (default: what the gateway serves)",
  ).argParser(parseImage);

function parseDryRun(text: string): boolean {
  if (["true", "client", "server"].includes(text)) return true;
  if (["false", "none"].includes(text)) return false;
  throw new InvalidArgumentError("Use --dry-run alone, or with =client, =server or =none.");
}

function parseTimeout(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0 && ms <= MAX_TIMEOUT_MS) return ms;
  throw new InvalidArgumentError("It is no duration such as 30s, 5m or 1h30m.");
}

/** What a timer can hold. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

function parseImage(text: string): string {
  if (/^[\x21-\x7e]{1,1000}$/.test(text)) return text;
  throw new InvalidArgumentError("It is no image name.");
}

import { InvalidArgumentError, Option } from "commander";
import { parseDuration } from "../common/time/duration.ts";

/** The flags of every command. */
export interface GlobalOptions {
  readonly server?: string | undefined;
  readonly caFile?: string | undefined;
}

const LIST_FORMS = ["json", "yaml", "wide", "name"] as const;

/** The flags of every list. */
export interface ListOptions extends GlobalOptions {
  /** A table when absent. */
  readonly output?: typeof LIST_FORMS[number];
  /** False with `--no-headers`. */
  readonly headers: boolean;
}

/** The flags that choose the consumer cluster. */
export interface ConsumerOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/** The flags of commands that write to the consumer cluster. */
export interface WriteOptions extends GlobalOptions, ConsumerOptions {
  readonly dryRun?: boolean | undefined;
  readonly wait?: boolean | undefined;
  /** From `--timeout`. */
  readonly timeoutMs: number;
}

/** `-o`, with the forms that a command can print. */
export const outputFlag = (
  forms: readonly string[],
  description = "print in another form",
): Option => new Option("-o, --output <form>", description).choices(forms);

/** `-o` and `--no-headers`. */
export const listFlags = (): Option[] => [
  outputFlag(LIST_FORMS),
  new Option("--no-headers", "leave out the line with the column names"),
];

/** `--kubeconfig` and `--context`. */
export const consumerFlags = (): Option[] => [
  new Option("--kubeconfig <file>", "the kubeconfig to use (default: KUBECONFIG, ~/.kube/config)"),
  new Option("--context <name>", "the context in it (default: its current one)"),
];

/** `--dry-run`, `--wait` and `--timeout`. */
export const writeFlags = (wait: string): Option[] => [
  dryRunFlag("print what would happen, and change nothing anywhere"),
  new Option("--wait", wait),
  timeoutFlag(),
];

/** `--dry-run`, alone or with a mode of kubectl; `client` and `server` mean the same here. */
export const dryRunFlag = (description: string): Option =>
  new Option("--dry-run [mode]", description).argParser(parseDryRun);

const DEFAULT_TIMEOUT = "2m";
/** The longest delay of a timer. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** `--timeout`, parsed into milliseconds. */
export const timeoutFlag = (): Option =>
  new Option("--timeout <duration>", "give up after this time, such as 30s or 5m")
    .argParser(parseTimeout)
    .default(parseTimeout(DEFAULT_TIMEOUT), DEFAULT_TIMEOUT);

/** `--bound-groups`, and its opposite. */
export const boundGroupsFlags = (): Option[] => [
  new Option(
    "--bound-groups",
    "let the konnector use only the groups of bound APIs (default: as it is installed, else all)",
  ),
  new Option("--no-bound-groups").hideHelp(),
];

/** `--konnector-image`. */
export const imageFlag = (): Option =>
  new Option(
    "--konnector-image <image>",
    "the konnector's image (default: the one that the gateway serves)",
  ).argParser(parseImage);

/** Takes the name of an Export as people type it, or as `-o name` prints it. */
export const exportNameOf = (text: string): string =>
  text.replace(/^exports?(?:\.catalog\.xbind\.io)?\//, "");

function parseDryRun(text: string): boolean {
  if (["true", "client", "server"].includes(text)) return true;
  if (["false", "none"].includes(text)) return false;
  throw new InvalidArgumentError("Use --dry-run alone, or with =client, =server or =none.");
}

function parseTimeout(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0 && ms <= MAX_TIMEOUT_MS) return ms;
  throw new InvalidArgumentError("It is not a duration such as 30s, 5m or 1h30m.");
}

function parseImage(text: string): string {
  if (/^[\x21-\x7e]{1,1000}$/.test(text)) return text;
  throw new InvalidArgumentError("It is not an image name.");
}

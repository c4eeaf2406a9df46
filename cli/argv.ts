import type { Command, Option } from "commander";
import { CliError } from "./cli_error.ts";
import { closest } from "./closest.ts";

/** A flag as the command line may spell it. */
export interface Flag {
  /** Without its dashes, such as `output`. */
  readonly long: string;
  /** One letter, without its dash. */
  readonly short?: string | undefined;
  /** `optional` takes a value only after `=`; without one it means `preset`. */
  readonly kind: "boolean" | "value" | "optional";
  readonly preset?: string | undefined;
}

/** Every command with its flags, and the flags of all. */
export interface CommandLine {
  readonly global: readonly Flag[];
  readonly commands: ReadonlyMap<string, readonly Flag[]>;
}

const TRUE = ["true", "t", "1"];
const FALSE = ["false", "f", "0"];

/**
 * Rewrites arguments in the one spelling that the parser understands: the command first, every flag
 * long and with its value after `=`. Accepts the spellings of kubectl (`-oyaml`, `-o=yaml`,
 * `--wait=false`, flags before the command), and long flags with one dash. Refuses unknown commands
 * and flags.
 */
export const normalizeArgs = (args: readonly string[], line: CommandLine): string[] => {
  const at = commandIndex(args, line);
  if (at === undefined) return spelledOut(args, line.global, "kubectl bind");
  const command = args[at] ?? "";
  const flags = line.commands.get(command);
  if (!flags) throw unknown("command", command, [...line.commands.keys()], "kubectl bind --help");
  const rest = [...args.slice(0, at), ...args.slice(at + 1)];
  return [command, ...spelledOut(rest, [...line.global, ...flags], `kubectl bind ${command}`)];
};

/** Finds the command: the first word that is neither a flag nor the value of one. */
export const commandIndex = (args: readonly string[], line: CommandLine): number | undefined => {
  const all = [...line.global, ...[...line.commands.values()].flat()];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--") return undefined;
    if (!isFlag(arg)) return i;
    const read = readFlag(arg, all);
    if (read && takesNext(read)) i++;
  }
  return undefined;
};

interface ReadFlag {
  readonly flag: Flag;
  readonly value: string | undefined;
}

const isFlag = (arg: string): boolean => arg.startsWith("-") && arg !== "-";

/** Returns whether the next word is this flag's value. */
export const takesNext = ({ flag, value }: ReadFlag): boolean =>
  flag.kind === "value" && value === undefined;

/** Reads an argument as a flag, with the value that the same argument holds. */
export const readFlag = (arg: string, flags: readonly Flag[]): ReadFlag | undefined => {
  if (!isFlag(arg)) return undefined;
  const equals = arg.indexOf("=");
  const name = (equals < 0 ? arg : arg.slice(0, equals)).replace(/^--?/, "");
  const value = equals < 0 ? undefined : arg.slice(equals + 1);
  const long = flags.find((flag) => flag.long === name && name.length > 1);
  if (long) return { flag: long, value };
  if (arg.startsWith("--")) return undefined;
  const short = flags.find((flag) => flag.short === arg[1]);
  if (!short) return undefined;
  const rest = arg.slice(2);
  if (rest === "") return { flag: short, value: undefined };
  if (rest.startsWith("=")) return { flag: short, value: rest.slice(1) };
  return short.kind === "boolean" ? undefined : { flag: short, value: rest };
};

const spelledOut = (args: readonly string[], flags: readonly Flag[], command: string): string[] => {
  let words: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--") return [...words, ...args.slice(i)];
    if (!isFlag(arg)) {
      words.push(arg);
      continue;
    }
    const read = readFlag(arg, flags);
    if (!read) throw unknown("flag", arg.replace(/=.*/s, ""), names(flags), `${command} --help`);
    const { flag: { long, kind, preset = "true" }, value } = read;
    if (kind === "boolean") {
      words = words.filter((word) => word !== `--${long}` && word !== opposite(long));
      if (isTrue(long, value)) words.push(`--${long}`);
      else if (flags.some((other) => `--${other.long}` === opposite(long))) {
        words.push(opposite(long));
      }
    } else if (value !== undefined) words.push(`--${long}=${value}`);
    else if (kind === "optional") words.push(`--${long}=${preset}`);
    else if (i + 1 < args.length) words.push(`--${long}=${args[++i]}`);
    else throw new CliError("usage", `Cannot use --${long}: its value is missing`, help(command));
  }
  return words;
};

const opposite = (long: string): string =>
  long.startsWith("no-") ? `--${long.slice(3)}` : `--no-${long}`;

const isTrue = (long: string, value: string | undefined): boolean => {
  const text = value?.toLowerCase();
  if (text === undefined || TRUE.includes(text)) return true;
  if (FALSE.includes(text)) return false;
  throw new CliError(
    "usage",
    `Cannot use --${long}=${value}: it is neither true nor false`,
    `Use --${long} or --${long}=false`,
  );
};

const names = (flags: readonly Flag[]): string[] => flags.map(({ long }) => `--${long}`);

const help = (command: string): string => `See: ${command} --help`;

const unknown = (
  what: "command" | "flag",
  given: string,
  known: readonly string[],
  see: string,
): CliError => {
  const meant = closest(what === "flag" ? given.replace(/^-+/, "--") : given, known);
  const did = meant === undefined ? "" : `Did you mean "${meant}"? `;
  return new CliError(
    "usage",
    `Cannot run kubectl bind: unknown ${what} ${JSON.stringify(given)}`,
    `${did}See: ${see}`,
  );
};

const HELP: Flag = { long: "help", short: "h", kind: "boolean" };

/** Lists the commands and flags of a program. */
export const commandLineOf = (program: Command): CommandLine => ({
  global: [HELP, ...program.options.map(flagOf)],
  commands: new Map([
    ["help", []],
    ...program.commands.map((command) => [command.name(), command.options.map(flagOf)] as const),
  ]),
});

const flagOf = (option: Option): Flag => ({
  long: (option.long ?? "").replace(/^--/, ""),
  short: option.short?.slice(1),
  kind: option.required ? "value" : option.optional ? "optional" : "boolean",
  preset: typeof option.presetArg === "string" ? option.presetArg : undefined,
});

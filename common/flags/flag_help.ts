import { envName, type Flag, type FlagTable } from "./flag_kinds.ts";
import { ACTIONS } from "./parse_flags.ts";
import { VERSION } from "../version.ts";

const WIDTH = 100;
const KEEP = "\u00a0"; // a space at which lines are not broken
const COLUMN = 37; // where meanings start; longer flags get a line of their own

/** A program, as its `--help` introduces it. */
export interface Program {
  readonly name: string;
  readonly purpose: string;
  /** When it ends with exit code 0. */
  readonly success: string;
}

/** Builds the text of `--help` from tables of flags under their headings. */
export const flagHelp = (
  { name, purpose, success }: Program,
  groups: Readonly<Record<string, FlagTable>>,
): string =>
  [
    `${name} ${VERSION}`,
    purpose,
    "",
    `Usage: ${name} [flags]`,
    "",
    ...wrapped(INTRODUCTION, 0),
    ...Object.entries(groups).flatMap(([heading, table]) => [
      "",
      `${heading}:`,
      ...Object.entries(table).flatMap(([name, flag]) =>
        entry(usage(name, flag), meaning(name, flag))
      ),
    ]),
    "",
    "Information:",
    ...Object.entries(ACTIONS).flatMap(([name, help]) => entry(`--${name}`, help)),
    "",
    "Exit codes:",
    `  0  ${success}`,
    "  1  failed at run time",
    "  2  bad flags, environment variables or files they name",
    "",
  ].join("\n");

const INTRODUCTION =
  "Flags are written --name=value or --name value, switches --name or --name=false. Every flag can " +
  "also come from the environment as XBIND_<NAME>, in capitals and with _ for -; a flag on the " +
  "command line wins, and an empty variable counts as not set. Give secrets through the environment, " +
  "as other users of the machine can read command lines.";

const usage = (name: string, flag: Flag<unknown, string>): string =>
  flag.placeholder === "" ? `--${name}` : `--${name} <${flag.placeholder}>`;

const meaning = (name: string, flag: Flag<unknown, string>): string => {
  if (flag.secret) return `${flag.help} (better set as ${envName(name)})`;
  return flag.defaultText === "" ? flag.help : `${flag.help} (default${KEEP}${flag.defaultText})`;
};

const entry = (left: string, right: string): string[] => {
  const [first = "", ...rest] = wrapped(right, COLUMN);
  const head = `  ${left}`;
  return head.length + 2 <= COLUMN
    ? [head.padEnd(COLUMN) + first.trimStart(), ...rest]
    : [head, first, ...rest];
};

const wrapped = (text: string, indent: number): string[] => {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent + line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  return [...lines, line].map((each) => " ".repeat(indent) + each.replaceAll(KEEP, " "));
};

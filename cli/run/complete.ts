import type { Argument, Command, Option } from "commander";
import { isDnsSubdomain } from "../../common/api/names.ts";
import { commandIndex, commandLineOf, readFlag, takesNext } from "../argv.ts";
import { connectGateway } from "../gateway/connect.ts";
import { type LoginIo, TAB } from "../terminal/io.ts";

/** Directives for the shell, in the numbers of kubectl's completion protocol. */
const DIRECTIVE = { files: 0, noFiles: 4 } as const;
const GATEWAY_MS = 3_000;

/** The candidates for the last word of a command line. */
export interface Completion {
  readonly candidates: readonly (readonly [value: string, description: string])[];
  readonly directive: keyof typeof DIRECTIVE;
}

const NOTHING: Completion = { candidates: [], directive: "noFiles" };

/**
 * Prints the candidates for the last word, one per line with its description, then the directive
 * for the shell. Never fails, because the shell hides errors.
 */
export const complete = async (
  io: LoginIo,
  program: Command,
  words: readonly string[],
): Promise<void> => {
  const { candidates, directive } = await completionOf(
    program,
    words,
    (options) => exportNames(io, options),
  );
  const lines = candidates.map(([value, description]) => [value, TAB, description] as const);
  io.out([...lines, `:${DIRECTIVE[directive]}`]);
};

/** Completes a command line whose last word is incomplete. */
export const completionOf = async (
  program: Command,
  words: readonly string[],
  namesOfExports: (globals: { server?: string; caFile?: string }) => Promise<readonly string[]>,
): Promise<Completion> => {
  const line = commandLineOf(program);
  const done = words.slice(0, -1);
  const last = words.at(-1) ?? "";
  const at = commandIndex(done, line);
  const command = program.commands.find((each) => each.name() === done[at ?? -1]);
  const options = [...program.options, ...command?.options ?? []];
  const flags = [...line.global, ...line.commands.get(command?.name() ?? "") ?? []];
  const before = readFlag(done.at(-1) ?? "", flags);
  if (before && takesNext(before)) return valuesOf(optionOf(before.flag.long, options), last, "");
  if (last.startsWith("-") && last.includes("=")) {
    const read = readFlag(last, flags);
    const prefix = last.slice(0, last.indexOf("=") + 1);
    return read ? valuesOf(optionOf(read.flag.long, options), read.value ?? "", prefix) : NOTHING;
  }
  if (last.startsWith("-")) return beginning(flagCandidates(options), last);
  if (at === undefined || done[at] === "help") return commandsOf(program, last);
  if (!command) return NOTHING;
  const positionals = positionalsIn(done.slice(at + 1), flags);
  const argument = command.registeredArguments[positionals];
  if (!argument) return NOTHING;
  if (argument.argChoices) return beginning(described(argument.argChoices), last);
  if (!isExportName(argument)) return NOTHING;
  return beginning(described(await namesOfExports(globalsIn(done, flags))), last);
};

const isExportName = (argument: Argument): boolean =>
  argument.name() === "export" || argument.name() === "name";

const commandsOf = (program: Command, last: string): Completion =>
  beginning(program.commands.map((each) => [each.name(), each.description()] as const), last);

const described = (values: readonly string[]) => values.map((value) => [value, ""] as const);

const beginning = (candidates: Completion["candidates"], last: string): Completion => ({
  candidates: candidates.filter(([value]) => value.startsWith(last)),
  directive: "noFiles",
});

const flagCandidates = (options: readonly Option[]): Completion["candidates"] => [
  ...options.filter(({ hidden }) => !hidden)
    .map(({ long, description }) => [long ?? "", description] as const),
  ["--help", "print help"] as const,
];

const optionOf = (long: string, options: readonly Option[]): Option | undefined =>
  options.find((option) => option.long === `--${long}`);

const valuesOf = (option: Option | undefined, begun: string, prefix: string): Completion => {
  if (/<(?:file|path)>/.test(option?.flags ?? "")) return { candidates: [], directive: "files" };
  return beginning(
    described((option?.argChoices ?? []).map((value) => prefix + value)),
    prefix + begun,
  );
};

/** Counts the words that are neither flags nor values of flags. */
const positionalsIn = (words: readonly string[], flags: Parameters<typeof readFlag>[1]): number => {
  let count = 0;
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    if (!word.startsWith("-")) count++;
    else {
      const read = readFlag(word, flags);
      if (read && takesNext(read)) i++;
    }
  }
  return count;
};

const globalsIn = (words: readonly string[], flags: Parameters<typeof readFlag>[1]) => {
  const found: { server?: string; caFile?: string } = {};
  words.forEach((word, i) => {
    const read = readFlag(word, flags);
    const value = read && (takesNext(read) ? words[i + 1] : read.value);
    if (value === undefined) return;
    if (read?.flag.long === "server") found.server = value;
    if (read?.flag.long === "ca-file") found.caFile = value;
  });
  return found;
};

const exportNames = async (
  io: LoginIo,
  globals: { server?: string; caFile?: string },
): Promise<readonly string[]> => {
  try {
    const gateway = await connectGateway(io, globals, "session");
    const signal = AbortSignal.any([io.signal, AbortSignal.timeout(GATEWAY_MS)]);
    const { exports } = await gateway.catalog(signal);
    return exports.map(({ name }) => name).filter(isDnsSubdomain); // the shell interprets the names
  } catch {
    return [];
  }
};

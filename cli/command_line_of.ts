import type { Command, Option } from "commander";
import type { CommandLine, Flag } from "./argv.ts";

const HELP: Flag = { long: "help", short: "h", kind: "boolean" };

/** The commands and flags of a program, as the spelling of arguments needs them. */
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

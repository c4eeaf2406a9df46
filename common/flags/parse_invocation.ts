import { ConfigError } from "./config_error.ts";
import { flagHelp, type Program } from "./flag_help.ts";
import { configKey, type ConfigOf, type FlagTable } from "./flag_kinds.ts";
import { parseFlags } from "./parse_flags.ts";

/** What the command line of a program accepts. */
export interface CommandLine<Table extends FlagTable> {
  readonly program: Program;
  readonly flags: Table;
  /** The same flags under the headings of the help. */
  readonly groups: Readonly<Record<string, FlagTable>>;
  readonly combinations: readonly Combination<Table>[];
}

/** Settings that cannot work together. */
export interface Combination<Table extends FlagTable> {
  readonly reads: readonly (keyof Table & string)[];
  readonly isWrong: (config: ConfigOf<Table>) => boolean;
  readonly problem: string;
}

/** Says what the command line asks for: run, help or version. */
export type Invocation<Config> =
  | { readonly kind: "run"; readonly config: Config }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "version" };

/** Reads flags and `XBIND_*` variables, or throws one ConfigError that lists every problem. */
export const parseInvocation = <Table extends FlagTable>(
  { program, flags, groups, combinations }: CommandLine<Table>,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Invocation<ConfigOf<Table>> => {
  const { action, values, failed, problems } = parseFlags(flags, args, env);
  if (action === "help") return { kind: "help", text: flagHelp(program, groups) };
  if (action === "version") return { kind: "version" };
  const entries = Object.entries(flags)
    .map(([name, flag]) => [configKey(name, flag), values.get(name)]);
  // ConfigOf derives the type from the same table as these entries.
  const config = Object.freeze(Object.fromEntries(entries)) as ConfigOf<Table>;
  const combined = combinations
    // A bad value is reported already, so a combination with it cannot be judged.
    .filter(({ reads }) => !reads.some((name) => failed.has(name)))
    .filter(({ isWrong }) => isWrong(config))
    .map(({ problem }) => problem);
  const all = [...problems, ...combined];
  if (all.length > 0) throw new ConfigError(all);
  return { kind: "run", config };
};

import { envName, type Flag, type FlagTable } from "./flag_kinds.ts";
import { logJson } from "../log/log_value.ts";

/** Flags that end the process instead of configuring it; they have no environment variable. */
export const ACTIONS = {
  help: "Print all flags and exit (also -h)",
  version: "Print the version and exit",
} as const;

/** The result of `parseFlags`. */
export interface ParsedFlags {
  readonly action: keyof typeof ACTIONS | undefined;
  /** The value of every flag; the default if none was given or it is bad. */
  readonly values: ReadonlyMap<string, unknown>;
  /** Flags with a bad value, or without one. */
  readonly failed: ReadonlySet<string>;
  /** All problems, in the order of the arguments, then of the table. */
  readonly problems: readonly string[];
}

/** Parses flags as Go programs do. The environment sets flags that the arguments omit. */
export const parseFlags = (
  table: FlagTable,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ParsedFlags => {
  const values = new Map<string, unknown>();
  const failed = new Set<string>();
  const problems: string[] = [];
  const actions = new Set<string>();

  const accept = (name: string, source: string, text: string) => {
    const flag = table[name];
    const checked = flag?.parse(text);
    if (!flag || !checked) return;
    if ("value" in checked) {
      values.set(name, checked.value);
    } else {
      failed.add(name);
      const subject = flag.secret ? "the value" : quote(checked.part ?? text);
      problems.push(`${source}: ${subject} ${checked.problem}`);
    }
  };

  let previous: Previous = "none";
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--") {
      problems.push("--: there are only flags, no arguments after them");
      break;
    }
    if (!arg.startsWith("-") || arg === "-") {
      problems.push(unexpectedArgument(arg, previous));
      continue;
    }
    const [, name = "", inline] = /^--?([^-=][^=]*)(?:=([^]*))?$/.exec(arg) ?? [];
    if (isAction(name)) {
      actions.add(name === "h" ? "help" : name);
      previous = "unknown";
      continue;
    }
    const flag = Object.hasOwn(table, name) ? table[name] : undefined;
    previous = flag ? { name, flag } : "unknown";
    const next = args[i + 1];
    if (!flag) {
      problems.push(unknownFlag(table, arg));
      // The next word is its value, not another problem.
      if (!arg.includes("=") && next !== undefined && !next.startsWith("-")) i++;
    } else if (inline !== undefined) {
      accept(name, `--${name}`, inline);
    } else if (flag.placeholder === "") {
      accept(name, `--${name}`, "true");
    } else if (next === undefined || namesFlag(table, next)) {
      // Go would take the next flag as the value. We report the missing value instead.
      failed.add(name);
      problems.push(`--${name} needs a value: write --${name}=<${flag.placeholder}>`);
    } else {
      i++;
      accept(name, `--${name}`, next);
    }
  }

  for (const [name, flag] of Object.entries(table)) {
    // Files and shells often add a line break to a value.
    const fromEnv = env[envName(name)]?.replace(/\r?\n$/, "");
    if (fromEnv && !values.has(name) && !failed.has(name)) accept(name, envName(name), fromEnv);
    if (!values.has(name)) {
      const checked = flag.parse(flag.defaultText);
      if ("value" in checked) values.set(name, checked.value);
    }
  }
  const action = actions.has("help") ? "help" : actions.has("version") ? "version" : undefined;
  return { action, values, failed, problems };
};

const isAction = (name: string) => name === "h" || Object.hasOwn(ACTIONS, name);

const namesFlag = (table: FlagTable, arg: string): boolean => {
  const [, name = ""] = /^--?([^-=][^=]*)/.exec(arg) ?? [];
  return isAction(name) || Object.hasOwn(table, name);
};

const quote = (text: string): string => {
  const short = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return logJson(short.replace(/\/\/[^/?#]*@/, "//…@")) ?? ""; // a URL may hold a password
};

/** Returns the flag before an argument. */
type Previous =
  | { readonly name: string; readonly flag: Flag<unknown, string> }
  | "none"
  | "unknown";

const unexpectedArgument = (arg: string, previous: Previous): string => {
  // After a secret or a misspelt flag, the argument may be the rest of a secret.
  const hidden = typeof previous === "object" ? previous.flag.secret : previous === "unknown";
  if (hidden) return "unexpected argument (not shown): quote values that contain blanks";
  if (typeof previous !== "object") {
    return `unexpected argument ${quote(arg)}: there are only flags`;
  }
  const { name, flag } = previous;
  const remedy = flag.placeholder === "" && "value" in flag.parse(arg)
    ? `write --${name}=${arg}`
    : "quote values that contain blanks";
  return `unexpected argument ${quote(arg)} after --${name}: ${remedy}`;
};

const unknownFlag = (table: FlagTable, arg: string): string => {
  const name = (/^-*([\w-]*)/.exec(arg)?.[1] ?? "").slice(0, 60);
  // "--some-key:abc" or "--some-keyabc": do not print the text after a secret's name.
  const known = Object.keys(table).find((each) =>
    table[each]?.secret ? name.startsWith(each) : name === each
  );
  if (known !== undefined) return `--${known} is not written so: use --${known}=<value>`;
  const suggestion = suggest(table, name);
  return `--${name} is not a flag: ${suggestion ? `did you mean ${suggestion}?` : "see --help"}`;
};

const suggest = (table: FlagTable, name: string): string | undefined => {
  const plain = name.toLowerCase().replaceAll("_", "-");
  const negated = plain.replace(/^no-/, "").replace(/^disable-/, "enable-");
  if (negated !== plain && table[negated]?.placeholder === "") return `--${negated}=false`;
  const names = [...Object.keys(table), ...Object.keys(ACTIONS)];
  const [best] = names
    .map((candidate) => ({ candidate, edits: editDistance(plain, candidate) }))
    .sort((a, b) => a.edits - b.edits);
  if (best && best.edits <= Math.max(1, plain.length / 4)) return `--${best.candidate}`;
  const longer = plain.length >= 4 ? names.find((each) => each.includes(plain)) : undefined;
  return longer && `--${longer}`;
};

/** Counts the letters to insert, delete, replace or swap to turn one word into the other. */
const editDistance = (from: string, to: string): number => {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const replace = (last[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const swapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swap = swapped && i > 1 && j > 1 ? (beforeLast[j - 2] ?? 0) + 1 : Infinity;
      row.push(Math.min(replace, swap, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length] ?? 0;
};

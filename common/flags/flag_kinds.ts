import { parseDuration } from "../time/duration.ts";
import { Hidden } from "../hidden.ts";

/** A value, or a problem. `problem` follows the quoted text, or its `part`, in a message. */
export type Checked<T> =
  | { readonly value: T }
  | { readonly problem: string; readonly part?: string };

/** One flag: how to parse it, its help, and the unit at the end of its `Config` key. */
export interface Flag<T, Unit extends string = ""> {
  readonly defaultText: string;
  readonly help: string;
  /** The value in the help; empty for a boolean. */
  readonly placeholder: string;
  /** Messages and logs never show the value. */
  readonly secret: boolean;
  readonly unit: Unit;
  readonly parse: (text: string) => Checked<T>;
}

/** Flags by name. */
export type FlagTable = Readonly<Record<string, Flag<unknown, string>>>;

/** A kind of text that several flags share. */
export interface TextKind {
  readonly placeholder: string;
  readonly parse: (text: string) => Checked<string>;
}

const TRUE = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const FALSE = new Set(["0", "f", "F", "FALSE", "false", "False"]);

/** A switch. */
export const flag = (byDefault: boolean, help: string): Flag<boolean> => ({
  ...base(String(byDefault), "", help),
  parse: (text) =>
    TRUE.has(text)
      ? { value: true }
      : FALSE.has(text)
      ? { value: false }
      : { problem: "is neither true nor false" },
});

const CONTROL = /\p{Cc}/u;
const ANY_TEXT: TextKind = { placeholder: "text", parse: (value) => ({ value }) };

/** One line of text. Empty means "not set", and is refused if the default is not empty. */
export const text = (byDefault: string, help: string, kind: TextKind = ANY_TEXT): Flag<string> => ({
  ...base(byDefault, kind.placeholder, help),
  parse: (given) => {
    if (given === "" && byDefault === "") return { value: "" };
    if (given.trim() === "") return { problem: `is empty: give a value or leave the flag out` };
    if (CONTROL.test(given)) return { problem: "contains a line break or control character" };
    return kind.parse(given);
  },
});

/** One of several words. The first is the default; an empty one means "not set". */
export const oneOf = <const Words extends readonly [string, ...string[]]>(
  words: Words,
  help: string,
): Flag<Words[number]> => {
  const named = words.filter((word) => word !== "");
  return {
    ...base(words[0], named.join("|"), help),
    parse: (given) =>
      words.includes(given) ? { value: given } : { problem: `is not one of ${named.join(", ")}` },
  };
};

/** A duration of at least a millisecond. Its `Config` key ends in `Ms`. */
export const duration = (
  byDefault: string,
  help: string,
  maxMs = Number.MAX_SAFE_INTEGER,
): Flag<number, "Ms"> => ({
  ...base(byDefault, "duration", help),
  unit: "Ms",
  parse: (given) => {
    const ms = parseDuration(given);
    if (ms === undefined) {
      return { problem: "is not a duration: write a number with a unit, as in 30s, 5m or 1h30m" };
    }
    if (ms < 1) return { problem: "is too short: it must be at least 1ms" };
    if (ms > maxMs) return { problem: `is too long: it may be at most ${maxMs / 3_600_000}h` };
    return { value: ms };
  },
});

/** A duration, or `0` for none. */
export const durationOrZero = (byDefault: string, help: string): Flag<number, "Ms"> => {
  const positive = duration(byDefault, help);
  const parse = (given: string) =>
    parseDuration(given) === 0 ? { value: 0 } : positive.parse(given);
  return { ...positive, parse };
};

/** A number that is not negative. */
export const number = (byDefault: number, help: string, max = Infinity): Flag<number> => ({
  ...base(String(byDefault), "number", help),
  parse: (given) => {
    if (!/^\d{1,15}(?:\.\d{1,15})?$/.test(given)) {
      return { problem: "is not a number of zero or more, as in 0, 0.5 or 20" };
    }
    const value = Number(given);
    return value > max ? { problem: `is too large: it may be at most ${max}` } : { value };
  },
});

/** Items separated by commas. Blanks around items and empty items are ignored. */
export const list = (
  byDefault: string,
  help: string,
  kind: TextKind,
): Flag<readonly string[]> => ({
  ...base(byDefault, `${kind.placeholder},…`, help),
  parse: (given) => {
    const items: string[] = [];
    for (const item of given.split(",").map((each) => each.trim()).filter(Boolean)) {
      const checked = kind.parse(item);
      if ("problem" in checked) return { problem: checked.problem, part: item };
      items.push(checked.value);
    }
    return { value: Object.freeze(items) };
  },
});

/** A credential: undefined if empty, otherwise hidden from logs. */
export const secret = <T>(
  placeholder: string,
  help: string,
  parse: (text: string) => Checked<T>,
): Flag<Hidden<T> | undefined> => ({
  ...base("", placeholder, help),
  secret: true,
  parse: (given) => {
    if (given === "") return { value: undefined };
    const checked = parse(given);
    // Drop `part`: a message would show it.
    if ("problem" in checked) return { problem: checked.problem };
    return { value: new Hidden(checked.value) };
  },
});

const base = (defaultText: string, placeholder: string, help: string) => ({
  defaultText,
  placeholder,
  help,
  secret: false,
  unit: "" as const,
});

/** Returns the environment variable of a flag. */
export const envName = (name: string): string => `XBIND_${name.toUpperCase().replaceAll("-", "_")}`;

type Camel<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/** The key of a flag in the configuration: camelCase with its unit. */
export type ConfigKey<Table, Name extends keyof Table & string> = Table[Name] extends
  Flag<unknown, infer Unit> ? `${Camel<Name>}${Unit}` : never;

/** The configuration that a table of flags describes. */
export type ConfigOf<Table> = {
  readonly [Name in keyof Table & string as ConfigKey<Table, Name>]: Table[Name] extends
    Flag<infer T, string> ? T : never;
};

/** The key of a flag in the configuration, as `ConfigOf` spells it. */
export const configKey = (name: string, { unit }: Flag<unknown, string>): string =>
  name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()) + unit;

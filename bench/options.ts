import type { Mode } from "./scenario.ts";

/** The options on the command line. */
export interface BenchOptions {
  readonly mode: Mode;
  /** The names of the scenarios to run, or empty for all of the mode. */
  readonly only: readonly string[];
  /** The divisor of all sizes. */
  readonly shrink: number;
  readonly soakMinutes: number;
  /** Rewrites the documentation from this file, by default from the newest full run. */
  readonly writeDocs?: { readonly from?: string };
  /** False if the command only rewrites the documentation. */
  readonly measures: boolean;
}

const MODES: readonly string[] = ["quick", "full", "faults", "soak"] satisfies Mode[];

/** The usage line for a wrong command line. */
export const USAGE = "[--quick|--full|--faults|--soak] [--only=<name,…>] [--shrink=<n>] " +
  "[--minutes=<n>] [--write-docs[=<results.json>]]";

/** Parses the command line, and throws its first error. */
export function parseOptions(args: readonly string[], scenarios: readonly string[]): BenchOptions {
  const given = new Map<string, string | undefined>();
  for (const arg of args) {
    const [, name = "", value] = /^--([a-z-]+)(?:=(.+))?$/.exec(arg) ?? [];
    const takes = FLAGS[name] ?? (MODES.includes(name) ? "nothing" : undefined);
    if (!takes) throw new Error(`unknown argument "${arg}"`);
    if (takes === "value" && value === undefined) throw new Error(`--${name} needs a value`);
    if (takes === "nothing" && value !== undefined) throw new Error(`--${name} takes no value`);
    given.set(name, value);
  }
  const modes = MODES.filter((mode) => given.has(mode)) as Mode[];
  if (modes.length > 1) throw new Error(`--${modes.join(" and --")} exclude each other`);
  const only = (given.get("only") ?? "").split(",").filter(Boolean);
  const unknown = only.filter((name) => !scenarios.includes(name));
  if (unknown.length > 0) {
    throw new Error(`no scenario "${unknown[0]}"; there are ${scenarios.join(", ")}`);
  }
  const from = given.get("write-docs");
  return {
    mode: modes[0] ?? "quick",
    only,
    shrink: positive(given, "shrink", 1),
    soakMinutes: positive(given, "minutes", 60),
    ...(given.has("write-docs") ? { writeDocs: from === undefined ? {} : { from } } : {}),
    measures: !given.has("write-docs") || (from === undefined && modes.length + only.length > 0),
  };
}

const FLAGS: Readonly<Record<string, "value" | "optional">> = {
  only: "value",
  shrink: "value",
  minutes: "value",
  "write-docs": "optional",
};

function positive(
  given: ReadonlyMap<string, string | undefined>,
  name: string,
  otherwise: number,
): number {
  const text = given.get(name);
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} needs a number above 0, not "${text}"`);
  return value;
}

import path from "node:path";
import type { Figure } from "./figure.ts";
import type { Mode } from "./scenario.ts";

/** The results of a run. */
export interface Results {
  readonly version: string;
  readonly mode: Mode;
  /** The start time in RFC 3339. */
  readonly startedAt: string;
  readonly seconds: number;
  readonly cores: number;
  readonly shrink: number;
  /** The requested scenarios, or empty for all of the mode. */
  readonly only: readonly string[];
  readonly figures: readonly (Figure & { readonly scenario: string })[];
}

const DIR = new URL("results/", import.meta.url);

/** Saves the results of a run, and returns the file. */
export async function keepResults(results: Results): Promise<string> {
  await Deno.mkdir(DIR, { recursive: true });
  const file = new URL(`${results.startedAt.replaceAll(":", "-")}.json`, DIR);
  await Deno.writeTextFile(file, JSON.stringify(results, undefined, 2) + "\n");
  return path.relative(Deno.cwd(), file.pathname);
}

/** Reads the results in a file. */
export const readResults = async (file: string | URL): Promise<Results> =>
  JSON.parse(await Deno.readTextFile(file));

/** Finds the results of the newest full run of all scenarios at full size. */
export async function newestFullResults(): Promise<Results | undefined> {
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir(DIR)) if (name.endsWith(".json")) names.push(name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  for (const name of names.sort().reverse()) {
    const results = await readResults(new URL(name, DIR));
    const { mode, shrink, only = [] } = results;
    if (mode === "full" && shrink === 1 && only.length === 0) return results;
  }
  return undefined;
}

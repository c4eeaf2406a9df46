/**
 * Writes common/api/crds_generated.json from the YAML files of crds/, or with `--check` tells
 * whether it is current: the programs read the JSON, as YAML would take a fifth of their start.
 */
import { parse } from "yaml";
import { say } from "../say.ts";

const DIR = new URL("../../crds/", import.meta.url);
const FILE = new URL("../../common/api/crds_generated.json", import.meta.url);

/** The text of common/api/crds_generated.json: every CRD by its name. */
export async function crdsText(): Promise<string> {
  const names = [];
  for await (const { name } of Deno.readDir(DIR)) if (name.endsWith(".yaml")) names.push(name);
  const crds: [string, unknown][] = [];
  for (const name of names.sort()) {
    const crd = parse(await Deno.readTextFile(new URL(name, DIR)));
    crds.push([crd.metadata.name, crd]);
  }
  return `${JSON.stringify(Object.fromEntries(crds), undefined, 1)}\n`;
}

if (import.meta.main) {
  const text = await crdsText();
  if (!Deno.args.includes("--check")) {
    await Deno.writeTextFile(FILE, text);
    say("common/api/crds_generated.json is up to date");
  } else if (await Deno.readTextFile(FILE).catch(() => "") !== text) {
    say("common/api/crds_generated.json differs from crds/: run deno task docs");
    Deno.exit(1);
  }
}

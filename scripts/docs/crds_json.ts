import { parse } from "yaml";

const DIR = new URL("../../crds/", import.meta.url);

/**
 * The text of common/api/crds_generated.json: every CRD by its name. The programs read this JSON,
 * because parsing YAML would take a fifth of their start.
 */
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

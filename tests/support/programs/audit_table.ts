/** The entry of a code in `docs/audit.md`. */
export interface DocumentedCode {
  readonly source: string;
  readonly outcomes: readonly string[];
  readonly fields: readonly string[];
}

const words = (cell: string): string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);

/** Reads the codes in `docs/audit.md`. */
export async function documentedCodes(): Promise<Map<string, DocumentedCode>> {
  const text = await Deno.readTextFile(new URL("../../../docs/audit.md", import.meta.url));
  const table = text.slice(text.indexOf("\n## Codes"));
  const rows = [...table.matchAll(/^\| `([^`]+)`\s*\|([^|]*)\|([^|]*)\|([^|]*)\|/gm)];
  return new Map(rows.map(([, code = "", source = "", outcomes = "", fields = ""]) => [
    code,
    { source: source.trim(), outcomes: words(outcomes), fields: words(fields) },
  ]));
}

/** Finds the codes of audit lines in the backend's source. */
export async function codesInSource(): Promise<Set<string>> {
  const codes = new Set<string>();
  const folders = ["common/", "server/"].map((name) =>
    new URL(`../../../${name}`, import.meta.url)
  );
  for (const folder of folders) {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (isDirectory) folders.push(new URL(`${name}/`, folder));
      if (!name.endsWith(".ts") || name.endsWith("_test.ts")) continue;
      const source = await Deno.readTextFile(new URL(name, folder));
      for (const [, code = ""] of source.matchAll(/\bauditLine\(\s*"([^"]+)"/g)) codes.add(code);
    }
  }
  return codes;
}

import path from "node:path";

/** Pages outside docs/. */
const OTHER_PAGES = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "deploy/chart/README.md",
];

const ROOT = new URL("../../", import.meta.url);

/** Reads every page of the documentation; returns texts by path. */
export async function docsPages(): Promise<Map<string, string>> {
  const paths = [...OTHER_PAGES];
  for (const folder of ["docs", "docs/adr"]) {
    for await (const { name } of Deno.readDir(new URL(folder, ROOT))) {
      if (name.endsWith(".md")) paths.push(`${folder}/${name}`);
    }
  }
  const pages = await Promise.all(
    paths.sort().map(async (page) => {
      const text = await Deno.readTextFile(new URL(page, ROOT)).catch(() => undefined);
      return text === undefined ? [] : [[page, text] as const];
    }),
  );
  return new Map(pages.flat());
}

/** The flags that a page names, without their dashes. */
export const flagsIn = (markdown: string): string[] =>
  unique(withoutComments(markdown).matchAll(/(?<![\w-])--([a-z][a-z0-9-]*)/g));

/** The chart values that a page sets on a command line. */
export const chartValuesIn = (markdown: string): string[] =>
  [...markdown.matchAll(/--set(?:-string|-file)? ['"]?(\S+)/g)]
    .flatMap(([, pairs = ""]) => [...pairs.matchAll(/(?:^|,)([A-Za-z][\w.]*)=/g)])
    .flatMap(([, key]) => key ?? []);

/** The files of the repository that a page names outside of links. */
export const filesIn = (markdown: string): string[] =>
  unique(
    markdown.matchAll(
      /(?<![\w./-])((?:bench|cli|common|crds|deploy|docs|examples|konnector|scripts|server|tests|ui)\/[\w./-]*\.(?:json|md|sh|tpl|tsx?|yaml))\b/g,
    ),
  );

/** The targets of the links in a page, except in code. */
export const linksIn = (markdown: string): string[] =>
  unique(withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g));

/** The anchors of a page's headings, as forges make them. */
export const anchorsIn = (markdown: string): string[] =>
  [...withoutFences(markdown).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) =>
    heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").trim().replaceAll(/\s/g, "-")
  );

/** Lists the broken links of these pages; `exists` knows every other file and folder. */
export function brokenLinks(
  pages: ReadonlyMap<string, string>,
  exists: (path: string) => boolean,
): string[] {
  const faults: string[] = [];
  for (const [page, text] of pages) {
    for (const link of linksIn(text)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? page : path.posix.join(path.posix.dirname(page), file);
      const found = pages.get(target);
      if (found === undefined && !exists(target)) faults.push(`${page}: ${link} leads nowhere`);
      else if (anchor !== undefined && !anchorsIn(found ?? "").includes(anchor)) {
        faults.push(`${page}: ${link} has no such heading`);
      }
    }
  }
  return faults;
}

/**
 * Lists the cells of a comparison that neither link a source nor say that there is none, as
 * `row: cell`. The first column names the row. A table without an empty first heading is no
 * comparison.
 */
export function unsourcedCells(markdown: string): string[] {
  const faults: string[] = [];
  let isComparison = false;
  for (const line of markdown.split("\n")) {
    const [row, ...cells] = line.split("|").slice(1, -1).map((cell) => cell.trim());
    if (row === undefined) isComparison = false;
    else if (row === "") isComparison = true;
    else if (isComparison && !/^-+$/.test(row)) {
      const unsourced = cells.filter((cell) => !/\][[(]/.test(cell) && cell !== "not documented");
      faults.push(...unsourced.map((cell) => `${row}: ${cell}`));
    }
  }
  return faults;
}

const withoutFences = (markdown: string): string =>
  markdown.replaceAll(/^\s*```[^]*?^\s*```/gm, "");
const withoutCode = (markdown: string): string =>
  withoutFences(markdown).replaceAll(/`[^`\n]*`/g, "`code`");
const withoutComments = (markdown: string): string => markdown.replaceAll(/<!--[^]*?-->/g, "");

const unique = (matches: Iterable<RegExpExecArray>): string[] => [
  ...new Set(Array.from(matches, ([, found = ""]) => found)),
];

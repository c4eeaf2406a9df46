/**
 * Makes `ui/embedded.ts`, the module that holds the browser UI for the server. Scripts, style and
 * icon are named after their content. The same sources give the same module.
 */
import { createHash } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { say } from "./say.ts";

const ROOT = path.join(import.meta.dirname ?? "", "..");
const OUTPUT = path.join(ROOT, "ui/embedded.ts");
/** The most bytes that a first visit may load, after gzip. */
const BUDGET = { "text/javascript": 40_000, "text/css": 15_000 };

interface EmbeddedFile {
  readonly path: string;
  readonly contentType: string;
  readonly etag: string;
  readonly isImmutable: boolean;
  readonly text: string;
}

const digestOf = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 16);

async function packed(entry: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--minify", "--platform", "browser", entry],
    cwd: ROOT,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  if (!success) {
    throw new Error(`Cannot pack ${entry}: ${decoder.decode(stderr).trim()}`);
  }
  return decoder.decode(stdout);
}

const source = (name: string): Promise<string> => readFile(path.join(ROOT, "ui", name), "utf8");

/** A stylesheet without comments and indentation. */
export const compactCss = (css: string): string =>
  css.replaceAll(/\/\*.*?\*\//gs, "").replaceAll(/\s*\n\s*/g, "\n").trim();

/** Names a file after its content, so that browsers may cache it forever. */
function asset(name: string, contentType: string, text: string): EmbeddedFile {
  const digest = digestOf(text);
  const { name: stem, ext } = path.parse(name);
  return {
    path: `/assets/${stem}.${digest}${ext}`,
    contentType,
    etag: `"${digest}"`,
    isImmutable: true,
    text,
  };
}

/** Replaces the plain asset names in a page by the names after content. */
export function page(
  where: string,
  html: string,
  assets: ReadonlyMap<string, string>,
) {
  const text = html.replaceAll(
    /"\/assets\/([^"]+)"/g,
    (_match, name: string) => {
      const actual = assets.get(name);
      if (!actual) {
        throw new Error(
          `Cannot build the page ${where}: there is no asset ${name}`,
        );
      }
      return `"${actual}"`;
    },
  );
  const contentType = "text/html; charset=utf-8";
  return {
    path: where,
    contentType,
    etag: `"${digestOf(text)}"`,
    isImmutable: false,
    text,
  };
}

/** Counts the bytes of scripts and styles after gzip; throws when there are too many. */
export function checkBudget(
  files: readonly Pick<EmbeddedFile, "contentType" | "text">[],
): Record<string, number> {
  const sizes: Record<string, number> = {};
  for (const [type, limit] of Object.entries(BUDGET)) {
    sizes[type] = files.filter(({ contentType }) => contentType.startsWith(type))
      .reduce((sum, { text }) => sum + gzipSync(text).length, 0);
    if (sizes[type] <= limit) continue;
    throw new Error(
      `Cannot embed the UI: its ${type} has ${sizes[type]} bytes, over ${limit}`,
    );
  }
  return sizes;
}

async function embeddedFiles(): Promise<EmbeddedFile[]> {
  const [app, login, css, icon, index, loginPage] = await Promise.all([
    packed("ui/app.tsx"),
    packed("ui/login.ts"),
    source("style.css"),
    source("icon.svg"),
    source("index.html"),
    source("login.html"),
  ]);
  const javascript = "text/javascript; charset=utf-8";
  const named: [string, EmbeddedFile][] = [
    ["app.js", asset("app.js", javascript, app)],
    ["login.js", asset("login.js", javascript, login)],
    [
      "style.css",
      asset("style.css", "text/css; charset=utf-8", compactCss(css)),
    ],
    ["icon.svg", asset("icon.svg", "image/svg+xml", icon)],
  ];
  const paths = new Map(named.map(([name, file]) => [name, file.path]));
  const pages = [page("/", index, paths), page("/login", loginPage, paths)];
  return [...pages, ...named.map(([, file]) => file)];
}

const moduleOf = (files: readonly EmbeddedFile[]): string =>
  `/** Made by scripts/build_ui.ts from the sources of ui/. */

/** A file of the browser UI as it is served. */
export interface EmbeddedFile {
  readonly path: string;
  readonly contentType: string;
  readonly etag: string;
  /** Whether its path changes with its content. */
  readonly isImmutable: boolean;
  readonly text: string;
}

/** Everything a browser may ask for besides the API. */
export const EMBEDDED_FILES: readonly EmbeddedFile[] = ${JSON.stringify(files, null, 2)};
`;

/** Writes the module unless it is current; returns the bytes of a first visit. */
export async function buildUi(): Promise<Record<string, number>> {
  const files = await embeddedFiles();
  const sizes = checkBudget(files);
  const text = moduleOf(files);
  if (await readFile(OUTPUT, "utf8").catch(() => "") === text) return sizes;
  const made = `${OUTPUT}.${crypto.randomUUID()}`; // several builds may run at once
  try {
    await writeFile(made, text);
    await rename(made, OUTPUT);
  } finally {
    await rm(made, { force: true });
  }
  return sizes;
}

if (import.meta.main) {
  const sizes = Object.entries(await buildUi()).map(([type, bytes]) => `${type} ${bytes} bytes`);
  say(`ui/embedded.ts: ${sizes.join(", ")} after gzip`);
}

/** How to run a command block; the marker before it says so. */
export type BlockMode =
  | { readonly kind: "run" }
  /**
   * Keeps running; the next blocks wait for this text in its output. Commands that stayed before
   * are stopped, unless `alsoStays`.
   */
  | { readonly kind: "stays"; readonly until: string; readonly alsoStays: boolean }
  | { readonly kind: "not run"; readonly reason: string };

/** A block of commands in a page. */
export interface CommandBlock {
  /** The line of its first command, for messages. */
  readonly line: number;
  readonly commands: string;
  readonly mode: BlockMode;
  /** The output that the page shows. */
  readonly prints?: string;
}

interface Fence {
  readonly language: string;
  readonly line: number;
  readonly text: string;
  /** The last line before it that is not blank. */
  readonly before: string;
}

/** Languages that mean commands, but are not run. */
const OTHER_SHELLS = ["bash", "shell", "console", "zsh", "sh-session", ""];

/**
 * Lists the command blocks (`sh`) of a Markdown page, in order. A comment right before one says how
 * to run it: `<!-- not run: reason -->`, `<!-- stays until: text -->`, or `<!-- also stays until:
 * text -->` beside one that stays. A `text` block right after one is its output. Throws on an empty
 * marker, and on blocks of other shells.
 */
export function commandBlocks(markdown: string): CommandBlock[] {
  const blocks: CommandBlock[] = [];
  let last: Fence | undefined;
  for (const fence of fences(markdown)) {
    const { language, line, text, before } = fence;
    if (OTHER_SHELLS.includes(language)) {
      throw new Error(`Line ${line}: a block of "${language}" is not run; use sh, text or yaml`);
    }
    if (language === "sh") {
      blocks.push({ line, commands: text, mode: modeIn(before, line) });
    } else if (language === "text" && last?.language === "sh") {
      const block = blocks.pop();
      if (block) blocks.push({ ...block, prints: text });
    }
    last = fence;
  }
  return blocks;
}

function* fences(markdown: string): Generator<Fence> {
  const lines = markdown.split("\n");
  let before = "";
  for (let at = 0; at < lines.length; at++) {
    const [, indent, language] = /^(\s*)```(.*)$/.exec(lines[at] ?? "") ?? [];
    if (indent === undefined || language === undefined) {
      if (lines[at]?.trim()) before = lines[at]?.trim() ?? "";
      continue;
    }
    const line = at + 2;
    const text: string[] = [];
    while (++at < lines.length && lines[at]?.trim() !== "```") {
      text.push((lines[at] ?? "").replace(indent, ""));
    }
    if (at >= lines.length) throw new Error(`Line ${line}: the block does not end`);
    yield { language: language.trim(), line, text: text.join("\n"), before };
    before = "";
  }
}

function modeIn(before: string, line: number): BlockMode {
  const [, comment] = /^<!--(.*)-->$/.exec(before) ?? [];
  if (comment === undefined) return { kind: "run" };
  const [, marker, value = ""] = /^\s*([a-z ]+?)\s*(?::(.*))?$/.exec(comment) ?? [];
  const told = value.trim();
  if (marker === "not run" && told.length >= 10) return { kind: "not run", reason: told };
  if ((marker === "stays until" || marker === "also stays until") && told !== "") {
    return { kind: "stays", until: told, alsoStays: marker.startsWith("also") };
  }
  throw new Error(
    `Line ${line}: "${before}" is no marker with a reason; ` +
      `known are "not run: <reason>", "stays until: <text>" and "also stays until: <text>"`,
  );
}

/**
 * Whether output equals the output that a page shows, except for spacing. In the page, `…` stands
 * for the rest of a word or line, and on a line of its own for any number of lines.
 */
export function isPrinted(shown: string, output: string): boolean {
  const lines = tidy(shown).map((line) =>
    line === "…" ? "(?:[^\\n]*\\n)*?" : `${line.split("…").map(RegExp.escape).join("[^\\n]*?")}\\n`
  );
  return new RegExp(`^${lines.join("")}$`).test(tidy(output).map((line) => `${line}\n`).join(""));
}

const tidy = (text: string): string[] =>
  text.split("\n").map((line) => line.trim().replaceAll(/\s+/g, " ")).filter((line) => line !== "");

/**
 * Replaces each command line with `…` by the line of `output` that fits it, as a reader would copy
 * it from there.
 */
export function filledIn(commands: string, output: string): string {
  return commands.split("\n").map((line) => {
    if (!line.includes("…")) return line;
    const found = output.split("\n").find((candidate) => isPrinted(line, candidate));
    if (found === undefined) throw new Error(`No line of the output fits "${line}":\n${output}`);
    return found.trim();
  }).join("\n");
}

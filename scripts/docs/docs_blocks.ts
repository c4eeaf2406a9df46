/** How the command blocks of a page are to be run, as the markers before them say. */
export type BlockMode =
  | { readonly kind: "run" }
  /** Runs on while the blocks after it run, which wait for this text in its output. */
  | { readonly kind: "stays"; readonly until: string }
  | { readonly kind: "not run"; readonly reason: string };

/** A block of commands in a page. */
export interface CommandBlock {
  /** Of its first command, for messages. */
  readonly line: number;
  readonly commands: string;
  readonly mode: BlockMode;
  /** What the page says that the commands print. */
  readonly prints?: string;
}

interface Fence {
  readonly language: string;
  readonly line: number;
  readonly text: string;
  /** The line before it that is not blank. */
  readonly before: string;
}

/** Languages that mean commands, but are not run. */
const OTHER_SHELLS = ["bash", "shell", "console", "zsh", "sh-session", ""];

/**
 * The command blocks (`sh`) of a Markdown page, in order. A comment right before one says how it
 * is run: `<!-- not run: reason -->`, or `<!-- stays until: text -->`. A block of `text` right
 * after one is what it prints. Throws on a marker that says nothing, and on other shells' blocks.
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
  if (marker === "stays until" && told !== "") return { kind: "stays", until: told };
  throw new Error(
    `Line ${line}: "${before}" is no marker with a reason; ` +
      `known are "not run: <reason>" and "stays until: <text>"`,
  );
}

/**
 * Whether output is what a page shows, spacing aside. There, `…` stands for the rest of a word or
 * line, and on a line of its own for any number of lines.
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
 * Commands with each line that holds `…` replaced by the line of `output` that fits it: that is
 * what a reader would copy from there.
 */
export function filledIn(commands: string, output: string): string {
  return commands.split("\n").map((line) => {
    if (!line.includes("…")) return line;
    const found = output.split("\n").find((candidate) => isPrinted(line, candidate));
    if (found === undefined) throw new Error(`No line of the output fits "${line}":\n${output}`);
    return found.trim();
  }).join("\n");
}

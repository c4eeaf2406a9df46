import { type Io, type Line, type Output, type Style, TAB } from "./io.ts";
import { safeText } from "./safe_text.ts";

/** Writes text to stdout or stderr unchanged. */
export type Write = (to: "stdout" | "stderr", text: string) => void;

const CODES: Readonly<Record<Style, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
};
const ERASE_LINE = "\r\u001b[K";

/**
 * Creates the only output to the terminal. It makes every text safe, and no other code writes
 * escape sequences. There are none where the stream is no terminal, and no colours with `NO_COLOR`.
 */
export const createOutput = (io: Pick<Io, "env" | "isTerminal">, write: Write): Output => {
  const isDumb = io.env.TERM === "dumb";
  const isPlain = (to: "stdout" | "stderr") =>
    !io.isTerminal[to] || isDumb || Boolean(io.env.NO_COLOR);
  const out = writtenFor(isPlain("stdout"));
  const err = writtenFor(isPlain("stderr"));
  return {
    out: (lines) => write("stdout", lines.map((line) => `${out(line)}\n`).join("")),
    say: (line) => write("stderr", `${err(line)}\n`),
    ...(io.isTerminal.stderr && !isDumb
      ? { draw: (line = "") => write("stderr", ERASE_LINE + err(line)) }
      : {}),
  };
};

/** Splits a text of our own into its lines. */
export const linesOf = (text: string): string[] => text.replace(/\n$/, "").split("\n");

const writtenFor = (isPlain: boolean) => (line: Line): string => {
  if (typeof line === "string") return safeText(line);
  return line.map((part) => {
    if (part === TAB) return "\t";
    if (typeof part === "string") return safeText(part);
    const [on, off] = CODES[part.style];
    const text = safeText(part.text);
    return isPlain ? text : `\u001b[${on}m${text}\u001b[${off}m`;
  }).join("");
};

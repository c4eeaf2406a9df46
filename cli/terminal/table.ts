import { safeText } from "./safe_text.ts";

/** How a table is printed. */
export interface TableOptions {
  readonly noHeaders?: boolean | undefined;
}

const GAP = "   ";
/** Marks that stand on the letter before them. */
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
const TWO_WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6\p{Emoji_Presentation}]$/u;

/**
 * Rows in columns, as kubectl prints them, a line each. Cells are as wide as what is shown of them,
 * and an empty one reads `<none>`.
 */
export const table = (
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  { noHeaders = false }: TableOptions = {},
): string[] => {
  const safe = rows.map((row) => row.map((cell) => safeText(cell) || "<none>"));
  const lines = noHeaders ? safe : [headers, ...safe];
  const widths = headers.map((_, column) =>
    lines.reduce((most, line) => Math.max(most, displayWidth(line[column] ?? "")), 0)
  );
  return lines.map((line) => alignedLine(line, widths));
};

const alignedLine = (cells: readonly string[], widths: readonly number[]): string =>
  cells.map((cell, column) => {
    if (column === cells.length - 1) return cell;
    return cell + " ".repeat((widths[column] ?? 0) - displayWidth(cell)) + GAP;
  }).join("");

/** How many places a terminal needs for the text. */
export const displayWidth = (text: string): number => {
  let width = 0;
  for (const character of text) {
    width += NO_WIDTH.test(character) ? 0 : TWO_WIDE.test(character) ? 2 : 1;
  }
  return width;
};

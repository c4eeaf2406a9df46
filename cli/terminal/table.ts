import { safeText } from "./safe_text.ts";

/** How to print a table. */
export interface TableOptions {
  readonly noHeaders?: boolean | undefined;
}

const GAP = "   ";
/** Marks that are drawn onto the letter before them. */
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
const TWO_WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6\p{Emoji_Presentation}]$/u;

/** Aligns rows in columns, as kubectl prints them; an empty cell reads `<none>`. */
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

/** Counts the columns that a terminal needs for the text. */
export const displayWidth = (text: string): number => {
  let width = 0;
  for (const character of text) {
    width += NO_WIDTH.test(character) ? 0 : TWO_WIDE.test(character) ? 2 : 1;
  }
  return width;
};

/** Prints one line per known fact, with the values in one column. */
export const details = (facts: readonly (readonly [string, string | undefined])[]): string[] => {
  const known = facts.filter(([, value]) => value);
  const width = known.reduce((most, [label]) => Math.max(most, label.length), 0) + 1;
  return known.map(([label, value = ""]) => `${`${label}:`.padEnd(width)} ${value}`);
};

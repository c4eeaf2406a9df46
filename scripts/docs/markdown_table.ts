/** Makes a table whose columns line up in the source. */
export const markdownTable = (
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string => {
  const cells = [head, ...rows].map((row) => row.map(escapeCell));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [first = "", ...rest] = cells.map(line);
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [first, rule, ...rest, ""].join("\n");
};

/** Marks a text as code. */
export const code = (text: string): string => `\`${text}\``;

const escapeCell = (text: string) => text.replaceAll("|", "\\|");

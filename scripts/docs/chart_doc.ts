import { type ChartFlag, sets } from "./chart_flags.ts";
import type { ChartValue } from "./chart_values.ts";
import { code, markdownTable } from "./markdown_table.ts";

const INTRODUCTION = `# Values of the chart

Generated from \`deploy/chart/values.yaml\` and the table in \`deploy/chart/templates/_flags.tpl\` by
\`deno task docs\`; change them there. \`values.schema.json\` refuses unknown values and wrong types;
\`global\` is left to parent charts. The flags are those of [flags.md](flags.md).
`;

/** The text of docs/chart-values.md. */
export const chartDoc = (values: readonly ChartValue[], flags: readonly ChartFlag[]): string => {
  const groups = Map.groupBy(values, ({ path }) => path.includes(".") ? path.split(".")[0] : "");
  return [
    INTRODUCTION,
    ...[...groups].map(([group, members]) => {
      const rows = members.map(({ path, byDefault, meaning }) => [
        code(path),
        code(JSON.stringify(byDefault)),
        flagCell(path, flags),
        asCode(meaning),
      ]);
      const heading = group ? code(group) : "The release and its pods";
      return `## ${heading}\n\n${markdownTable(["Value", "Default", "Flag", "Meaning"], rows)}`;
    }),
  ].join("\n");
};

const flagCell = (path: string, flags: readonly ChartFlag[]): string =>
  flags.filter((flag) => sets(flag, path)).map(({ flag }) => code(`--${flag}`)).join(", ");

/** Marks names of values, placeholders and lists as code. */
const asCode = (text: string): string =>
  text.replace(
    /<[a-zA-Z-]+>[/a-z]*|\b[a-z][a-zA-Z]+(?:\.[a-z][a-zA-Z]+)+\b(?!\.io)|\[\{.*?\}\]/g,
    code,
  );

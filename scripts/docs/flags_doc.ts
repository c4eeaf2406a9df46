import { envName, type Flag, type FlagTable } from "../../common/flags/flag_kinds.ts";
import { ACTIONS } from "../../common/flags/parse_flags.ts";
import { code, markdownTable } from "./markdown_table.ts";

const INTRODUCTION = `# Flags

Generated from the tables in \`server/flag_table.ts\` and \`konnector/flag_table.ts\` by
\`deno task docs\`; change them there. The flags of \`kubectl bind\` are in [cli.md](cli.md).

## How values are given

- Flags follow Go's habits: \`-name\` and \`--name\` are the same, values come as \`--name=value\` or
  \`--name value\`, switches as \`--name\` or \`--name=false\` (\`true\`, \`false\`, \`t\`, \`f\`, \`1\`, \`0\`).
  When a flag is repeated, the last one wins.
- Every flag can come from the environment instead. A flag on the command line wins. An **empty
  variable counts as not set**, a line break at the end of one is dropped, and unknown \`XBIND_*\`
  variables are ignored (Kubernetes injects some).
- **Secrets** belong in the environment: every user of a machine can read its command lines. Their
  values never appear in messages, logs or the help.
- Durations are numbers with a unit: \`300ms\`, \`30s\`, \`5m\`, \`1h30m\`, \`1.5h\`.
- Lists are separated by commas. Addresses to listen on are \`:8080\`, \`127.0.0.1:8080\` or
  \`[::1]:8080\`; port 0 takes a free one, which the log names.
- Bad flags, values and combinations are all listed in one message, and the process ends with exit
  code 2. Other failures end it with 1, SIGTERM with 0.
`;

/** The text of docs/flags.md, from the groups of flags of each program. */
export const flagsDoc = (
  programs: Readonly<Record<string, Readonly<Record<string, FlagTable>>>>,
): string =>
  [
    INTRODUCTION,
    ...Object.entries(programs).flatMap(([program, groups]) => [
      `## ${program}\n`,
      ...Object.entries(groups).map(([heading, table]) => section(heading, table)),
    ]),
    `## Information\n\n${
      markdownTable(
        ["Flag", "Meaning"],
        Object.entries(ACTIONS).map(([name, help]) => [code(`--${name}`), help]),
      )
    }`,
  ].join("\n");

const section = (heading: string, table: FlagTable): string => {
  const rows = Object.entries(table).map(([name, flag]) => [
    code(`--${name}`),
    code(envName(name)),
    defaultCell(flag),
    meaning(flag),
  ]);
  return `### ${heading}\n\n${
    markdownTable(["Flag", "Environment variable", "Default", "Meaning"], rows)
  }`;
};

const meaning = ({ help, placeholder, secret }: Flag<unknown, string>): string => {
  const choices = placeholder.includes("|") ? placeholder.split("|").map(code).join(", ") : "";
  const text = help.replace(/--[a-z][a-z-]*|<[a-z-]+>[/a-z]*/g, code);
  return `${secret ? "**Secret.** " : ""}${text}${choices && ` (${choices})`}`;
};

const defaultCell = (flag: Flag<unknown, string>): string =>
  flag.defaultText === "" ? "empty" : flag.defaultText.split(",").map(code).join(", ");

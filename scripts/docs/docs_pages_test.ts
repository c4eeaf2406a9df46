import assert from "node:assert/strict";
import type { Command } from "commander";
import { createProgram } from "../../cli/program.ts";
import type { LoginIo } from "../../cli/terminal/io.ts";
import { FLAGS as KONNECTOR_FLAGS } from "../../konnector/flag_table.ts";
import { FLAGS } from "../../server/flag_table.ts";
import { ACTIONS } from "../../common/flags/parse_flags.ts";
import { chartValues } from "./chart_values.ts";
import {
  anchorsIn,
  brokenLinks,
  chartValuesIn,
  docsPages,
  filesIn,
  flagsIn,
  linksIn,
  unsourcedCells,
} from "./docs_pages.ts";

/** Flags of other programs that the pages use, by the program. */
const OTHERS = {
  kubectl:
    "all all-namespaces as as-group clusterrole context dry-run field-selector for force-conflicts from-file " +
    "from-literal group kubeconfig list manifest-url namespace recursive replicas server-side timeout user",
  helm: "create-namespace install namespace reuse-values set show-only values version",
  docker: "build-arg env publish read-only target volume",
  cosign: "bundle certificate-identity-regexp certificate-oidc-issuer type",
  sha256sum: "check ignore-missing",
  "kube-controller-manager": "concurrent-serviceaccount-token-syncs kube-api-burst kube-api-qps",
  "deploy/install.sh": "base-url dir",
  git: "delete message sign",
  "deno tasks": "all archives faults full minutes only quick release shrink soak write-docs",
  "the projects of docs/comparison.md": "control-plane-mode metrics-address",
  "the placeholder of docs/flags.md": "name",
};

const flagNames = (command: Command): string[] => [
  ...command.options.flatMap(({ long }) => long ? [long.slice(2)] : []),
  ...command.commands.flatMap((each) => flagNames(each as Command)),
];

const pages = await docsPages();
const root = new URL("../../", import.meta.url);
const exists = (path: string): boolean => {
  try {
    Deno.statSync(new URL(path, root));
    return true;
  } catch {
    return false;
  }
};

Deno.test("every flag in the documentation exists", () => {
  const program = createProgram({ out: () => {} } as unknown as LoginIo);
  const known = new Set([
    ...Object.keys(FLAGS),
    ...Object.keys(KONNECTOR_FLAGS),
    ...Object.keys(ACTIONS),
    ...flagNames(program),
    ...Object.values(OTHERS).flatMap((flags) => flags.split(" ")),
  ]);
  // What developers' tasks take is not for those who run or use the programs.
  const ours = [...pages].filter(([page]) => page !== "CONTRIBUTING.md");
  const unknown = ours.flatMap(([page, text]) =>
    flagsIn(text).filter((flag) => !known.has(flag)).map((flag) => `${page}: --${flag}`)
  );
  assert.deepEqual(unknown, []);
});

Deno.test("every chart value that the documentation sets exists", async () => {
  const values = chartValues(await Deno.readTextFile(new URL("deploy/chart/values.yaml", root)));
  const known = new Set(values.map(({ path }) => path));
  const set = [...pages.values()].flatMap(chartValuesIn);
  assert.ok(set.length > 10);
  assert.deepEqual(set.filter((key) => !known.has(key)), []);
});

Deno.test("every relative link of the documentation leads to a file and a heading", () => {
  assert.deepEqual(brokenLinks(pages, exists), []);
});

Deno.test("every file that the documentation names exists", () => {
  const missing = [...pages].flatMap(([page, text]) =>
    filesIn(text).filter((file) => !exists(file)).map((file) => `${page}: ${file}`)
  );
  assert.deepEqual(missing, []);
});

Deno.test("docs/index.md leads to every page of docs/", () => {
  const index = pages.get("docs/index.md") ?? "";
  const linked = linksIn(index).map((link) => link.split("#")[0]);
  const unlinked = [...pages.keys()]
    .flatMap((page) => /^docs\/([^/]+)$/.exec(page)?.[1] ?? [])
    .filter((name) => name !== "index.md" && !linked.includes(name));
  assert.deepEqual(unlinked, []);
});

Deno.test("every cell of docs/comparison.md links its source, or says that there is none", () => {
  assert.deepEqual(unsourcedCells(pages.get("docs/comparison.md") ?? ""), []);
});

Deno.test("unsourcedCells() finds cells of comparisons without a link", () => {
  const text = [
    "| Column | Read |",
    "| ------ | ---- |",
    "| one    | all  |",
    "",
    "|       | one            | two         | three          |",
    "| ----- | -------------- | ----------- | -------------- |",
    "| Place | here ([a](b))  | there       | not documented |",
    "| Time  | now ([a][b])   | then ([c][d]) | maybe        |",
  ];
  assert.deepEqual(unsourcedCells(text.join("\n")), ["Place: there", "Time: maybe"]);
});

Deno.test("flagsIn() finds flags in text, code and tables, and nothing else", () => {
  const text =
    "Use `--one` or\n| --- | --two=3 |\n<!-- a--three --four -->\n```sh\nx --five-5 y--six\n```";
  assert.deepEqual(flagsIn(text), ["one", "two", "five-5"]);
});

Deno.test("chartValuesIn() finds what is set", () => {
  const text = "helm x --set a.b=1,c=2 \\\n  --set 'd.e={x,y}' --set f=https://h.example/?q=1";
  assert.deepEqual(chartValuesIn(text), ["a.b", "c", "d.e", "f"]);
});

Deno.test("filesIn() finds paths of the repository", () => {
  const text =
    "`server/main.ts`, /tmp/tests/a.ts, tests/e2e/x_test.ts. and docs/, examples/w/c.yaml";
  assert.deepEqual(filesIn(text), ["server/main.ts", "tests/e2e/x_test.ts", "examples/w/c.yaml"]);
});

Deno.test("anchorsIn() makes anchors as forges do", () => {
  const text = "# One Two\n```sh\n# no\n```\n## 5. `kubectl bind`: what, when?\n";
  assert.deepEqual(anchorsIn(text), ["one-two", "5-kubectl-bind-what-when"]);
});

Deno.test("brokenLinks() names links to nowhere and to missing headings", () => {
  const some = new Map([
    ["a.md", "[b](docs/b.md) [c](docs/c.md) [h](docs/b.md#here) [n](docs/b.md#not) [s](#self)"],
    ["docs/b.md", "# Here\n[up](../a.md) [web](https://example.org) `[code](x.md)` [f](../src/)"],
  ]);
  assert.deepEqual(brokenLinks(some, (path) => path === "src/"), [
    "a.md: docs/c.md leads nowhere",
    "a.md: docs/b.md#not has no such heading",
    "a.md: #self has no such heading",
  ]);
});

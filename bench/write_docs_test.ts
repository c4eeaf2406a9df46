import assert from "node:assert/strict";
import type { Figure, Point } from "./figure.ts";
import type { Results } from "./results.ts";
import { plotsOf, resultsSection, withResults } from "./write_docs.ts";

const figure = (name: string, rest: Partial<Figure> = {}) => ({
  scenario: "growth",
  name,
  measured: "1 ms",
  comparedTo: "a | b",
  goal: "≤ 2 ms",
  ...rest,
});

const point = (line: string, size: number, value: number): Point => ({
  plot: "views",
  line,
  size,
  value,
});

const RESULTS: Results = {
  version: "1.2.3",
  mode: "full",
  startedAt: "2026-01-02T03:04:05.000Z",
  seconds: 600,
  cores: 2,
  shrink: 1,
  only: [],
  figures: [figure("good", { met: true }), figure("bad", { met: false }), figure("told")],
};

Deno.test("resultsSection() shows every figure under its scenario and counts the goals", () => {
  const section = resultsSection(RESULTS, ["views"]);
  assert.match(section, /Run of 2026-01-02, `--full`, version 1\.2\.3, 2 cores/);
  assert.match(section, /10 minutes\. 1 of 2 goals met/);
  assert.match(section, /!\[[^\]]+\]\(images\/performance-views\.svg\)/);
  assert.match(section, /### growth/);
  assert.doesNotMatch(section, /divided/);
  assert.match(resultsSection({ ...RESULTS, shrink: 9 }, []), /sizes divided by 9/);
  assert.match(section, /\| good \| 1 ms \| a \\\| b \| ≤ 2 ms \| met \|/);
  assert.match(section, /\| bad .* \| MISSED \|/);
});

Deno.test("withResults() replaces the text between the marks, also a second time", () => {
  const page =
    "top\n<!-- results: written by deno task bench, begin -->\nold\n<!-- results: end -->\nrest\n";
  const once = withResults(page, "new\n");
  assert.match(once, /^top\n[^]*begin -->\n\nnew\n\n<!-- results: end -->\nrest\n$/);
  assert.equal(withResults(once, "new\n"), once);
  assert.throws(() => withResults("no marks", "new"), /its marks are gone/);
});

Deno.test("plotsOf() draws one line for each name, on scales around all points", () => {
  const points = [point("kept", 100, 0.5), point("kept", 1_000, 4), point("naive <", 100, 90)];
  const svg = plotsOf([figure("a", { points })]).get("views") ?? "";
  assert.equal(svg.match(/<polyline/g)?.length, 2);
  assert.match(svg, /naive &lt;/);
  assert.doesNotMatch(svg, /NaN|Infinity/);
  for (const tick of ["0.1", "1", "10", "100", "1,000"]) assert.match(svg, RegExp(`>${tick}<`));
});

Deno.test("plotsOf() leaves out points without a value", () => {
  assert.equal(plotsOf([figure("a", { points: [point("kept", 100, NaN)] })]).size, 0);
});

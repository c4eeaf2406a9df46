import path from "node:path";
import { type Figure, goalText, type Point } from "./figure.ts";
import { plotSvg, type PlotText } from "./plot.ts";
import type { Results } from "./results.ts";

const ROOT = new URL("../", import.meta.url);
const PAGE = "docs/performance.md";
const BEGIN = "<!-- results: written by deno task bench, begin -->";
const END = "<!-- results: end -->";

const PLOTS: Record<Point["plot"], PlotText> = {
  views: {
    title: "One answer to one caller, p50",
    x: "Exports, Grants with Leases, objects: as many of each",
    y: "ms",
  },
  memory: { title: "Resident memory, all modules in one process", x: "Grants", y: "MB" },
  start: { title: "From start to filled caches", x: "Exports, Grants with Leases", y: "ms" },
};

/** Writes results to the page, draws its plots, and returns the written files. */
export async function writeDocs(results: Results): Promise<string[]> {
  const plots = plotsOf(results.figures);
  const images: string[] = [];
  await Deno.mkdir(new URL("docs/images/", ROOT), { recursive: true });
  for (const [plot, svg] of plots) {
    const file = `docs/images/performance-${plot}.svg`;
    await Deno.writeTextFile(new URL(file, ROOT), svg);
    images.push(file);
  }
  const page = new URL(PAGE, ROOT);
  const before = await Deno.readTextFile(page);
  await Deno.writeTextFile(page, withResults(before, resultsSection(results, [...plots.keys()])));
  const files = [PAGE, ...images];
  const paths = files.map((file) => new URL(file, ROOT).pathname);
  const fmt = new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", ...paths] });
  if (!(await fmt.output()).success) throw new Error(`Cannot format ${files.join(", ")}`);
  return files;
}

/** Replaces the text between the marks of the page. */
export function withResults(page: string, section: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`Cannot write ${PAGE}: its marks are gone`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${section}\n${page.slice(end)}`;
}

/** Renders the results of a run for the page. */
export function resultsSection(
  { version, mode, startedAt, seconds, cores, shrink, figures }: Results,
  plots: readonly Point["plot"][],
): string {
  const missed = figures.filter(({ met }) => met === false).length;
  const judged = figures.filter(({ met }) => met !== undefined).length;
  const scenarios = [...new Set(figures.map(({ scenario }) => scenario))];
  return [
    `Run of ${
      startedAt.slice(0, 10)
    }, \`--${mode}\`, version ${version}, ${cores} cores shared by ` +
    `the backend, the control plane and the load; it took ${(seconds / 60).toFixed(0)} minutes. ` +
    `${judged - missed} of ${judged} goals met${
      shrink === 1 ? "" : `, sizes divided by ${shrink}`
    }.`,
    "",
    ...plots.flatMap((plot) => [
      `![${PLOTS[plot].title}](${path.posix.join("images", `performance-${plot}.svg`)})`,
      "",
    ]),
    ...scenarios.flatMap((scenario) => [
      `### ${scenario}`,
      "",
      "| Figure | Measured | Compared to | Goal | |",
      "| --- | --- | --- | --- | --- |",
      ...figures.filter((figure) => figure.scenario === scenario).map(row),
      "",
    ]),
  ].join("\n");
}

const row = ({ name, measured, comparedTo, goal, met }: Figure): string =>
  `| ${[name, measured, comparedTo, goal, goalText(met)].map(cell).join(" | ")} |`;

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** Draws the plots that have points. */
export function plotsOf(figures: readonly Figure[]): Map<Point["plot"], string> {
  const plots = new Map<Point["plot"], string>();
  const points = figures.flatMap((figure) => figure.points ?? [])
    .filter(({ size, value }) => size > 0 && value > 0);
  for (const plot of new Set(points.map((point) => point.plot))) {
    const lines = Map.groupBy(points.filter((point) => point.plot === plot), ({ line }) => line);
    plots.set(
      plot,
      plotSvg(PLOTS[plot], Array.from(lines, ([name, points]) => ({ name, points }))),
    );
  }
  return plots;
}

import { parse } from "yaml";
import { promtoolBinary } from "../../../scripts/tools/promtool.ts";

/** An alert as Prometheus reads it. */
export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A file of rules. */
export interface Rules {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Alert[] }[];
}

/** One process that operators watch: the folder of its files, and the page about it. */
export interface Monitored {
  readonly program: "backend" | "konnector";
  readonly dir: string;
  readonly page: string;
}

const ROOT = new URL("../../../", import.meta.url);

/** The processes that have a dashboard and alerts. */
export const MONITORED: readonly Monitored[] = [
  {
    program: "backend",
    dir: new URL("deploy/chart/files/", ROOT).pathname,
    page: "docs/operating.md",
  },
  {
    program: "konnector",
    dir: new URL("deploy/konnector/", ROOT).pathname,
    page: "docs/konnector.md",
  },
];

/** Reads a page of the documentation. */
export const pageOf = ({ page }: Monitored): Promise<string> =>
  Deno.readTextFile(new URL(page, ROOT));

/** Reads the alerts of a process. */
export async function alertsOf({ dir }: Monitored): Promise<Alert[]> {
  const { groups }: Rules = parse(await Deno.readTextFile(`${dir}rules.yaml`));
  return groups.flatMap(({ rules }) => rules);
}

interface DashboardJson {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly query: string | { query: string } }[] };
}

/** Reads the queries of a dashboard, as Grafana sends them, by panel. */
export async function queriesOf({ dir }: Monitored): Promise<[panel: string, query: string][]> {
  const { panels, templating }: DashboardJson = JSON.parse(
    await Deno.readTextFile(`${dir}dashboard.json`),
  );
  const shown = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }): [string, string] => [title, expr])
  );
  const variables = templating.list.flatMap(({ query }): [string, string][] => {
    const series = typeof query === "object" &&
      /^label_values\((.*), job\)$/.exec(query.query)?.[1];
    return series ? [["the variable job", series]] : [];
  });
  return [...shown, ...variables]
    .map(([title, query]) => [title, query.replaceAll("$__rate_interval", "5m")]);
}

/** Runs promtool on files or a text. */
export async function promtool(
  args: readonly string[],
  { cwd = ".", input = "" } = {},
): Promise<{ code: number; output: string }> {
  const child = new Deno.Command(await promtoolBinary(), {
    args: [...args],
    cwd,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await new Blob([input]).stream().pipeTo(child.stdin).catch(() => {});
  const { code, stdout, stderr } = await child.output();
  const text = (octets: Uint8Array) => new TextDecoder().decode(octets);
  return { code, output: text(stdout) + text(stderr) };
}

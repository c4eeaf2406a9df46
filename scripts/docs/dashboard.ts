/** One panel of a dashboard. */
export interface Panel {
  readonly title: string;
  /** What it shows, and when to look closer. */
  readonly about: string;
  /** A graph over time by default; `number` shows the last value, `name` its legend. */
  readonly kind?: "graph" | "number" | "name";
  /** A unit of Grafana, such as `s` or `bytes`. */
  readonly unit?: string;
  /** The value from which a number is red. */
  readonly redFrom?: number;
  /** The legend of each query. */
  readonly queries: Readonly<Record<string, string>>;
}

/** A dashboard: panels in rows, for the processes of one scrape job. */
export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly about: string;
  /** A series that each of its processes has, and no other. */
  readonly shownBy: string;
  readonly rows: Readonly<Record<string, readonly Panel[]>>;
}

const SOURCE = { type: "prometheus", uid: "${datasource}" };
const COLUMNS = 24;
const HEIGHTS = { graph: 8, number: 4, name: 4 };
/** Graphs of this many in a line can still be read. */
const GRAPHS_IN_A_LINE = 3;

/** Builds the text of a dashboard for Grafana. */
export function dashboardText({ uid, title, about, shownBy, rows }: Dashboard): string {
  const panels: object[] = [];
  let y = 0;
  const add = (panel: object, place: object) =>
    panels.push({ id: panels.length + 1, gridPos: place, ...panel });
  for (const [row, members] of Object.entries(rows)) {
    add({ type: "row", title: row, collapsed: false, panels: [] }, { x: 0, y, w: COLUMNS, h: 1 });
    y++;
    for (const line of linesOf(members)) {
      const w = Math.floor(COLUMNS / line.length);
      const h = HEIGHTS[line[0]?.kind ?? "graph"];
      line.forEach((panel, index) => add(panelOf(panel), { x: index * w, y, w, h }));
      y += h;
    }
  }
  const dashboard = {
    uid,
    title,
    description: about,
    tags: ["xbind"],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: { list: variables(shownBy) },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

/** Puts numbers into one line, and graphs into lines of at most three. */
function linesOf(panels: readonly Panel[]): Panel[][] {
  const isGraph = ({ kind = "graph" }: Panel) => kind === "graph";
  const numbers = panels.filter((panel) => !isGraph(panel));
  const graphs = panels.filter(isGraph);
  const count = Math.ceil(graphs.length / GRAPHS_IN_A_LINE);
  const length = Math.ceil(graphs.length / count);
  const lines = Array.from(
    { length: count },
    (_, index) => graphs.slice(index * length, (index + 1) * length),
  );
  return [numbers, ...lines].filter((line) => line.length > 0);
}

function panelOf({ title, about, kind = "graph", unit = "short", redFrom, queries }: Panel) {
  const steps = [
    { color: "green", value: null },
    ...(redFrom === undefined ? [] : [{ color: "red", value: redFrom }]),
  ];
  return {
    type: kind === "graph" ? "timeseries" : "stat",
    title,
    description: about,
    datasource: SOURCE,
    fieldConfig: {
      defaults: { unit, min: 0, thresholds: { mode: "absolute", steps } },
      overrides: [],
    },
    ...(kind === "graph" ? {} : {
      options: {
        reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false },
        textMode: kind === "name" ? "name" : "value",
        colorMode: redFrom === undefined ? "none" : "background",
      },
    }),
    targets: Object.entries(queries).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + index),
      datasource: SOURCE,
      legendFormat,
      expr,
    })),
  };
}

const variables = (shownBy: string) => [
  { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
  {
    name: "job",
    label: "Job",
    type: "query",
    datasource: SOURCE,
    query: { query: `label_values(${shownBy}, job)`, refId: "job" },
    refresh: 2,
    sort: 1,
  },
];

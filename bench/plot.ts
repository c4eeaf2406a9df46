/** One line of a plot. */
export interface Line {
  readonly name: string;
  readonly points: readonly { readonly size: number; readonly value: number }[];
}

/** The title and axes of a plot. */
export interface PlotText {
  readonly title: string;
  readonly x: string;
  readonly y: string;
}

const WIDTH = 760;
const HEIGHT = 400;
const LEFT = 70;
const TOP = 40;
const RIGHT = 520;
const BOTTOM = 340;
const COLORS = [
  "#1b6ca8",
  "#c8553d",
  "#3c8d5a",
  "#8e5ea2",
  "#b58900",
  "#4a4a4a",
  "#d1478c",
  "#2aa198",
  "#7a5230",
];

/** Draws cost against size on logarithmic scales, as SVG. */
export function plotSvg({ title, x, y }: PlotText, lines: readonly Line[]): string {
  const points = lines.flatMap((line) => line.points);
  const horizontal = axis(points.map(({ size }) => size), LEFT, RIGHT);
  const vertical = axis(points.map(({ value }) => value), BOTTOM, TOP);
  const grid = [
    ...horizontal.ticks.map((tick) => {
      const at = round(horizontal.place(tick));
      return `<path d="M${at} ${TOP}V${BOTTOM}" stroke="#ddd"/>` +
        text(at, BOTTOM + 18, label(tick), "middle");
    }),
    ...vertical.ticks.map((tick) => {
      const at = round(vertical.place(tick));
      return `<path d="M${LEFT} ${at}H${RIGHT}" stroke="#ddd"/>` +
        text(LEFT - 8, at + 4, label(tick), "end");
    }),
  ];
  const drawn = lines.map(({ name, points }, i) => {
    const color = COLORS[i % COLORS.length] ?? "#000";
    const places = points.map(({ size, value }) => ({
      x: round(horizontal.place(size)),
      y: round(vertical.place(value)),
    }));
    const path = places.map((place) => `${place.x},${place.y}`).join(" ");
    const legend = TOP + 8 + i * 20;
    return `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2"/>` +
      places.map((place) => `<circle cx="${place.x}" cy="${place.y}" r="3" fill="${color}"/>`)
        .join("") +
      `<rect x="${RIGHT + 16}" y="${legend - 9}" width="10" height="10" fill="${color}"/>` +
      text(RIGHT + 32, legend, name, "start");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" ` +
    `font-family="sans-serif" font-size="12" role="img" aria-label="${escaped(title)}">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(LEFT, 22, title, "start"),
    ...grid,
    ...drawn,
    text((LEFT + RIGHT) / 2, HEIGHT - 18, x, "middle"),
    text(LEFT - 8, TOP - 10, y, "end"),
    "</svg>\n",
  ].join("\n");
}

interface Axis {
  /** Returns the powers of ten around all values. */
  readonly ticks: readonly number[];
  place(value: number): number;
}

function axis(values: readonly number[], from: number, to: number): Axis {
  const lowest = Math.floor(Math.log10(Math.min(...values)));
  const highest = Math.max(lowest + 1, Math.ceil(Math.log10(Math.max(...values))));
  return {
    ticks: Array.from({ length: highest - lowest + 1 }, (_, i) => 10 ** (lowest + i)),
    place: (value) => from + (to - from) * (Math.log10(value) - lowest) / (highest - lowest),
  };
}

const round = (value: number): number => Math.round(value * 10) / 10;

const label = (tick: number): string =>
  tick < 1 ? String(Number(tick.toPrecision(1))) : tick.toLocaleString("en-US");

const text = (x: number, y: number, value: string, anchor: string): string =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="#222">${escaped(value)}</text>`;

const escaped = (value: string): string =>
  value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

import assert from "node:assert/strict";
import { BACKEND_DASHBOARD } from "./backend_dashboard.ts";
import { dashboardText } from "./dashboard.ts";
import { KONNECTOR_DASHBOARD } from "./konnector_dashboard.ts";

interface Placed {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { x: number; y: number; w: number; h: number };
  readonly targets?: readonly { refId: string; expr: string }[];
}

const panelsOf = (text: string): Placed[] => JSON.parse(text).panels;

Deno.test("dashboardText() places every panel, and none over another", () => {
  for (const dashboard of [BACKEND_DASHBOARD, KONNECTOR_DASHBOARD]) {
    const panels = panelsOf(dashboardText(dashboard));
    const wanted = Object.entries(dashboard.rows).flatMap(([row, members]) => [
      row,
      ...members.map(({ title }) => title),
    ]);
    assert.deepEqual(panels.map(({ title }) => title).sort(), wanted.sort());
    assert.deepEqual(panels.map(({ id }) => id), panels.map((_, index) => index + 1));
    const taken = new Set<string>();
    for (const { title, gridPos: { x, y, w, h } } of panels) {
      assert.ok(w > 0 && x + w <= 24, title);
      for (let column = x; column < x + w; column++) {
        for (let line = y; line < y + h; line++) {
          const place = `${column} ${line}`;
          assert.ok(!taken.has(place), `${title} covers another panel at ${place}`);
          taken.add(place);
        }
      }
    }
  }
});

Deno.test("dashboardText() puts numbers before graphs, three graphs in a line at most", () => {
  const graph = { title: "g", about: "", queries: { a: "up", b: "down" } };
  const number = { title: "n", about: "", kind: "number" as const, queries: { a: "up" } };
  const rows = { Row: [graph, number, graph, graph, graph] };
  const [row, ...panels] = panelsOf(
    dashboardText({ uid: "u", title: "t", about: "", shownBy: "up", rows }),
  );
  assert.equal(row?.type, "row");
  assert.deepEqual(panels.map(({ type, gridPos: { x, y, w } }) => [type, x, y, w]), [
    ["stat", 0, 1, 24],
    ["timeseries", 0, 5, 12],
    ["timeseries", 12, 5, 12],
    ["timeseries", 0, 13, 12],
    ["timeseries", 12, 13, 12],
  ]);
  assert.deepEqual(panels[1]?.targets?.map(({ refId, expr }) => [refId, expr]), [
    ["A", "up"],
    ["B", "down"],
  ]);
});

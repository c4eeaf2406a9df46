import assert from "node:assert/strict";
import {
  HOSTILE_MESSAGES,
  REFUSED_PROBLEMS,
  REFUSED_SUMMARIES,
} from "../../tests/testdata/hostile_reports.ts";
import { parseSummary, summaryText, type SyncProblem } from "./sync_summary.ts";

const problem: SyncProblem = {
  api: "widgets.example.org",
  namespace: "team",
  name: "one",
  reason: "Rejected",
  message: "too big",
};
const totals = { objects: 3, conflicts: 1, rejected: 2 };

Deno.test("parseSummary() reads what summaryText() wrote", () => {
  const { namespace: _, ...clusterWide } = problem;
  const summary = { ...totals, problems: [problem, clusterWide] };
  assert.deepEqual(parseSummary(summaryText(summary)), summary);
});

Deno.test("summaryText() lists few problems, and shortens their messages", () => {
  const problems = Array.from({ length: 1_000 }, (_, i) => ({ ...problem, name: `n${i}` }));
  assert.equal(parseSummary(summaryText({ ...totals, problems }))?.problems.length, 20);
  const long = problems.map((each) => ({
    ...each,
    name: each.name.padEnd(250, "n"),
    message: "é\n".repeat(10_000),
  }));
  const text = summaryText({ ...totals, problems: long });
  assert.ok(text.length <= 8_192, `${text.length}`);
  const { problems: kept = [], ...rest } = parseSummary(text) ?? {};
  assert.deepEqual(rest, totals);
  assert.ok(kept.length > 5 && kept.every(({ message }) => message.length === 200));
});

Deno.test("parseSummary() refuses", async (t) => {
  for (const text of [...REFUSED_SUMMARIES, undefined, null, 17, {}]) {
    await t.step(JSON.stringify(text)?.slice(0, 60) ?? "undefined", () => {
      assert.equal(parseSummary(text), undefined);
    });
  }
});

Deno.test("parseSummary() leaves malformed problems out", async (t) => {
  for (const given of REFUSED_PROBLEMS) {
    await t.step(JSON.stringify(given).slice(0, 60), () => {
      const text = JSON.stringify({ ...totals, problems: [given, problem] });
      assert.deepEqual(parseSummary(text), { ...totals, problems: [problem] });
    });
  }
  for (const problems of [undefined, null, "text", { length: 3 }]) {
    assert.deepEqual(parseSummary(JSON.stringify({ ...totals, problems }))?.problems, []);
  }
});

Deno.test("parseSummary() makes messages safe", async (t) => {
  for (const [given, shown] of HOSTILE_MESSAGES) {
    await t.step(JSON.stringify(given).slice(0, 60), () => {
      const text = JSON.stringify({ ...totals, problems: [{ ...problem, message: given }] });
      assert.equal(parseSummary(text)?.problems[0]?.message, shown);
    });
  }
});

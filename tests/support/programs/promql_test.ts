import assert from "node:assert/strict";
import { missingNames, namesIn, servedMetrics } from "./promql.ts";

const PAGE = `# HELP a_total Help with {braces} and a_word 1
# TYPE a_total counter
a_total{code="200",method="GET"} 3
# TYPE b gauge
b{status="200"} 1
# TYPE c_seconds histogram
c_seconds_bucket{le="+Inf",route="/x{y}"} 1
c_seconds_sum{route="/x{y}"} 0.5
c_seconds_count{route="/x{y}"} 1
# TYPE quiet gauge
`;

Deno.test("namesIn() finds metrics, matchers and groupings, and no functions or numbers", () => {
  const { metrics, grouped } = namesIn(
    'histogram_quantile(0.99, sum by (le, route) (rate(c_seconds_bucket{job="$job", route=~"/x.*"}' +
      '[$__rate_interval]))) > 1e3 or vector(0) and on (x) time() - a_total{code="200"} offset 5m',
  );
  assert.deepEqual(metrics.map(({ name }) => name), ["c_seconds_bucket", "a_total"]);
  assert.deepEqual([...metrics[0]?.matched ?? []], [["job", "$job"], ["route", undefined]]);
  assert.deepEqual(grouped, ["le", "route", "x"]);
});

Deno.test("servedMetrics() reads names and labels of each sample", () => {
  const served = servedMetrics(PAGE);
  assert.deepEqual([...served.keys()], [
    "a_total",
    "b",
    "c_seconds_bucket",
    "c_seconds_count",
    "c_seconds_sum",
    "quiet",
  ]);
  assert.deepEqual(served.get("a_total")?.samples, [{ code: "200", method: "GET" }]);
  assert.deepEqual(served.get("c_seconds_bucket")?.samples, [{ le: "+Inf", route: "/x{y}" }]);
  assert.deepEqual(served.get("b")?.samples, [{ status: "200" }]);
  assert.deepEqual(served.get("quiet")?.samples, []);
});

Deno.test("missingNames() names metrics, labels and values that are not served", async (t) => {
  const cases: [string, string[]][] = [
    ['sum by (code) (rate(a_total{job="x", code="403", method="GET"}[5m])) / b > 0.5', []],
    ["max without (instance, pod) (b) offset 5m", []],
    ['a_total{code=~"5.."}', []],
    ['b{status="200"} > 1e3', []],
    ['b{status="201"}', ['b{status="201"}']],
    ["c_seconds", ["c_seconds"]],
    ['absent(d{job="x"})', ["d"]],
    ['a_total{method="POST"}', ['a_total{method="POST"}']],
    ['a_total{verb=~"x"}', ['a_total{verb=""}']],
    ['quiet{api="x"}', ['quiet{api="x"}']],
    ["sum by (rote) (c_seconds_count)", ["rote"]],
  ];
  for (const [expression, missing] of cases) {
    await t.step(
      expression,
      () => assert.deepEqual(missingNames(expression, servedMetrics(PAGE)), missing),
    );
  }
});

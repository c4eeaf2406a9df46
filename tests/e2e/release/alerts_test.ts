import assert from "node:assert/strict";
import { parse, stringify } from "yaml";
import type { KubeObject } from "../../../common/api/resources.ts";
import { konnectorManifest } from "../../../common/consumer/konnector_manifest.ts";
import { anchorsIn } from "../../../scripts/docs/docs_pages.ts";
import {
  type Alert,
  alertsOf,
  MONITORED,
  type Monitored,
  pageOf,
  promtool,
  queriesOf,
  type Rules,
} from "../../support/programs/monitoring_files.ts";
import { ofKind, render, type RenderedDeployment } from "../../support/worlds/chart.ts";

const REPOSITORY = "https://github.com/xbind/xbind/blob/main/";
const STRICT = ["check", "rules", "--lint=all", "--lint-fatal"];

/** Returns the alerts of a process with a condition that never holds. */
const silenced = async (monitored: Monitored): Promise<Alert[]> =>
  (await alertsOf(monitored)).map((alert) => ({ ...alert, expr: "vector(0) > 1" }));

for (const monitored of MONITORED) {
  const { program, dir, page } = monitored;

  Deno.test(`promtool accepts the alerts of the ${program}`, async () => {
    const { code, output } = await promtool([...STRICT, "rules.yaml"], { cwd: dir });
    assert.equal(code, 0, output);
  });

  Deno.test(`the alerts of the ${program} fire when they should`, async (t) => {
    const { code, output } = await promtool(["test", "rules", "rules_test.yaml"], { cwd: dir });
    assert.equal(code, 0, output);
    const { tests } = parse(await Deno.readTextFile(`${dir}rules_test.yaml`));
    const cases: { alertname: string; exp_alerts: unknown[] }[] = tests
      .flatMap((each: { alert_rule_test?: unknown[] }) => each.alert_rule_test ?? []);
    for (const { alert } of await alertsOf(monitored)) {
      await t.step(`${alert} has a time at which it fires, and one at which it does not`, () => {
        const ours = cases.filter(({ alertname }) => alertname === alert);
        assert.ok(ours.some(({ exp_alerts }) => exp_alerts.length > 0));
        assert.ok(ours.some(({ exp_alerts }) => exp_alerts.length === 0));
      });
    }
  });

  Deno.test(`the tests of the ${program}'s alerts notice alerts that never fire`, async () => {
    const silent = { groups: [{ name: "silent", rules: await silenced(monitored) }] };
    const dir = await Deno.makeTempDir({ prefix: "xbind-alerts-" });
    try {
      await Deno.writeTextFile(`${dir}/rules.yaml`, stringify(silent));
      await Deno.copyFile(`${monitored.dir}rules_test.yaml`, `${dir}/rules_test.yaml`);
      const { code, output } = await promtool(["test", "rules", "rules_test.yaml"], { cwd: dir });
      assert.notEqual(code, 0);
      for (const { alert } of silent.groups[0]?.rules ?? []) {
        assert.ok(output.includes(`alertname: ${alert},`), alert);
      }
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  });

  Deno.test(`each alert of the ${program} tells what to do`, async (t) => {
    const anchors = anchorsIn(await pageOf(monitored));
    for (const { alert, labels, annotations } of await alertsOf(monitored)) {
      await t.step(alert, () => {
        assert.match(labels["severity"] ?? "", /^(critical|warning)$/);
        assert.match(annotations["summary"] ?? "", /^[A-Z].{10,80}$/);
        assert.match(annotations["description"] ?? "", /\.$/);
        const anchor = alert.toLowerCase();
        assert.equal(annotations["runbook_url"], `${REPOSITORY}${page}#${anchor}`);
        assert.ok(anchors.includes(anchor), `${page} has no heading ${alert}`);
      });
    }
  });

  Deno.test(`promtool accepts every query of the ${program}'s dashboard`, async () => {
    const queries = await queriesOf(monitored);
    assert.ok(queries.length > 25);
    const rules = queries.map(([, expr], index) => ({ record: `xbind:query:${index}`, expr }));
    const input = stringify({ groups: [{ name: "queries", rules }] });
    const { code, output } = await promtool(["check", "rules"], { input });
    assert.equal(code, 0, output);
  });
}

Deno.test("pod_monitor.yaml selects the konnector of the manifest, under the alerts' job", async () => {
  const [, konnector] = MONITORED;
  const { spec, metadata } = parse(await Deno.readTextFile(`${konnector?.dir}pod_monitor.yaml`));
  const [deployment] = ofKind<RenderedDeployment>(konnectorManifest("image"), "Deployment");
  assert.equal(metadata.namespace, deployment?.metadata.namespace);
  const { metadata: { labels = {} }, spec: { containers: [container] } } =
    deployment?.spec.template ?? assert.fail("no Deployment");
  for (const [label, value] of Object.entries(spec.selector.matchLabels)) {
    assert.equal(labels[label], value);
  }
  const [{ port, relabelings: [{ targetLabel, replacement }] }] = spec.podMetricsEndpoints;
  assert.equal(container.ports.find(({ name }) => name === port)?.containerPort, 8085);
  const rules = await Deno.readTextFile(`${konnector?.dir}rules.yaml`);
  assert.deepEqual(
    new Set(Array.from(rules.matchAll(/\bjob="[^"]*"/g), ([matcher]) => matcher)),
    new Set([`${targetLabel}="${replacement}"`]),
  );
});

/** Renders the PrometheusRule of a release. */
async function renderedRules(values: Record<string, unknown>): Promise<Rules> {
  const objects = await render({ "metrics.prometheusRule.enabled": true, ...values });
  const [rule] = ofKind<KubeObject & { spec: Rules }>(objects, "PrometheusRule");
  return rule?.spec ?? assert.fail("no PrometheusRule");
}

Deno.test("the chart's alerts are those of the file, for the metrics of the release", async () => {
  const [backend] = MONITORED;
  const text = await Deno.readTextFile(`${backend?.dir}rules.yaml`);
  const cases: [Record<string, unknown>, string][] = [
    [{}, 'job="xbind-backend-metrics", namespace="xbind-system"'],
    [{ fullnameOverride: "mine" }, 'job="mine-metrics", namespace="xbind-system"'],
    [{ "metrics.prometheusRule.selector": 'job="other"' }, 'job="other"'],
  ];
  for (const [values, selector] of cases) {
    const rendered = await renderedRules(values);
    assert.deepEqual(rendered, parse(text.replaceAll('job="xbind"', selector)));
    assert.ok(!JSON.stringify(rendered).includes('job=\\"xbind\\"'));
    const { code, output } = await promtool(STRICT, { input: stringify(rendered) });
    assert.equal(code, 0, output);
  }
});

Deno.test("the chart's ConfigMap has the dashboard, and the labels of Grafana's sidecar", async () => {
  const objects = await render({ "metrics.dashboard.enabled": true });
  const [map] = ofKind<KubeObject & { data: Record<string, string> }>(objects, "ConfigMap");
  assert.equal(map?.metadata.labels?.["grafana_dashboard"], "1");
  const [backend] = MONITORED;
  const file = await Deno.readTextFile(`${backend?.dir}dashboard.json`);
  assert.deepEqual(map.data, { "xbind-backend.json": file });
});

Deno.test("the chart has neither alerts nor a dashboard by default, or without metrics", async () => {
  const on = { "metrics.prometheusRule.enabled": true, "metrics.dashboard.enabled": true };
  for (const values of [{}, { ...on, "metrics.bindAddress": "0" }]) {
    const objects = await render(values);
    assert.deepEqual(objects.filter(({ kind }) => /PrometheusRule|ConfigMap/.test(kind)), []);
  }
});

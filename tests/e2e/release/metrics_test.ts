import assert from "node:assert/strict";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import type { KubeObject, ResourceType } from "../../../common/api/resources.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { customType, WIDGETS } from "../../support/planes/issuer_samples.ts";
import {
  alertsOf,
  MONITORED,
  pageOf,
  promtool,
  queriesOf,
} from "../../support/programs/monitoring_files.ts";
import { missingNames, servedMetrics } from "../../support/programs/promql.ts";
import { CliWorld } from "../../support/worlds/cli_world.ts";

const METRIC =
  /\b(?:xbind|http_request|controller_runtime|workqueue|rest_client|leader_election|process)_[a-z_]+/g;
const TYPE: ResourceType<KubeObject & { spec?: object; status?: object }> = customType(WIDGETS);
const KEY = { namespace: "default", name: "one" };

/** Syncs one object and its status. */
async function work({ kube, provider }: CliWorld): Promise<void> {
  const widget = { apiVersion: "example.org/v1", kind: TYPE.kind, metadata: KEY, spec: { n: 1 } };
  await kube.create(TYPE, widget, FIELD_MANAGERS.installer);
  await eventually("the copy", () => provider.kube.find(TYPE, KEY));
  await provider.setStatus(TYPE, KEY, { phase: "Ready" });
  await eventually("the status", async () => (await kube.get(TYPE, KEY)).status);
}

Deno.test("backend and konnector serve what pages, dashboards and alerts name", async (t) => {
  await using world = await CliWorld.start("--enable-reaper", "--leader-elect");
  await using binding = world.startBind(["export", world.exportName, "--wait", "--timeout=60s"]);
  await using konnector = await world.startKonnector("--leader-elect");
  const { code, stderr } = await binding.ended();
  assert.equal(code, 0, `${stderr}\n${konnector.lines.join("\n")}`);
  await work(world);

  const processes = { backend: world.gateway.backend, konnector };
  for (const monitored of MONITORED) {
    const { program, page } = monitored;
    const address = await processes[program].addressOf("/metrics");
    const text = await (await fetch(`${address}/metrics`)).text();
    const served = servedMetrics(text);
    const isServed = (name: string) => served.has(name) || served.has(`${name}_bucket`);

    await t.step(`${page} names only metrics that the ${program} serves`, async () => {
      const content = await pageOf(monitored);
      const named = new Set([...content.matchAll(METRIC)].map(([name]) => name));
      assert.ok(named.size > 8, [...named].join(", "));
      assert.deepEqual([...named].filter((name) => !isServed(name)), []);
      for (const [, name = "", labels = ""] of content.matchAll(/\b([a-z_]+)\{([a-z,]+)\}/g)) {
        const samples = (served.get(name) ?? served.get(`${name}_bucket`))?.samples ?? [];
        assert.ok(samples.length > 0, `${name} has no sample`);
        for (const label of labels.split(",")) {
          assert.ok(samples.some((sample) => label in sample), `${name} has no label ${label}`);
        }
      }
    });

    await t.step(`the alerts of the ${program} read only what it serves`, async () => {
      for (const { alert, expr } of await alertsOf(monitored)) {
        assert.deepEqual(missingNames(expr, served), [], alert);
      }
    });

    await t.step(`the dashboard of the ${program} reads only what it serves`, async () => {
      for (const [panel, query] of await queriesOf(monitored)) {
        assert.deepEqual(missingNames(query, served), [], panel);
      }
    });

    await t.step(`promtool can read the metrics of the ${program}`, async () => {
      const { output } = await promtool(["check", "metrics"], { input: text });
      assert.equal(output, "");
    });
  }

  await t.step("the konnector shows that all is well", async () => {
    const address = await konnector.addressOf("/metrics");
    const text = await (await fetch(`${address}/metrics`)).text();
    const valueOf = (series: string) =>
      Number(text.split("\n").find((line) => line.startsWith(`${series} `))?.split(" ").at(-1));
    const { grant } = world;
    const labels = `connection="${grant}"`;
    assert.equal(valueOf(`xbind_connection_ready{${labels}}`), 1);
    assert.equal(valueOf(`xbind_binding_ready{binding="${grant}",${labels}}`), 1);
    assert.equal(valueOf(`xbind_sync_objects{api="${WIDGETS}"}`), 1);
    assert.equal(valueOf(`xbind_sync_refused{api="${WIDGETS}"}`), 0);
    const age = Date.now() / 1_000 - valueOf(`xbind_heartbeat_timestamp_seconds{${labels}}`);
    assert.ok(age >= 0 && age < 600, `${age}`);
  });
});

import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { Gateway } from "../../support/worlds/gateway_world.ts";
import { uniqueName } from "../../support/planes/kube.ts";

const plane = await sharedProvider();
const PAGE = new URL("../../../docs/operating.md", import.meta.url);
const METRIC =
  /\b(?:xbind|http_request|controller_runtime|workqueue|rest_client|leader_election|process)_[a-z_]+/g;

/** Returns the declared name of a metric: pages name histograms by their parts. */
const declared = (name: string): string => name.replace(/_(bucket|count|sum)$/, "");

Deno.test("GET /metrics serves every metric and label in docs/operating.md", async () => {
  const page = await Deno.readTextFile(PAGE);
  const named = new Set([...page.matchAll(METRIC)].map(([name]) => declared(name)));
  assert.ok(named.size > 10, [...named].join(", "));
  await using gateway = await Gateway.start(plane, {
    flags: [
      "--enable-issuer=false",
      "--enable-reaper",
      "--leader-elect",
      `--leader-election-id=${uniqueName("docs-metrics")}`,
    ],
  });
  await (await gateway.request("/api/healthz")).body?.cancel();
  const address = await gateway.backend.addressOf("/metrics");
  const text = await eventually("a request is counted", async () => {
    const served = await (await fetch(`${address}/metrics`)).text();
    return served.includes('route="/api/healthz"') && served;
  });
  const served = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  assert.deepEqual([...named].filter((name) => !served.has(name)), []);

  for (const [, name = "", labels = ""] of page.matchAll(/\b([a-z_]+)\{([a-z,]+)\}/g)) {
    const shown = new RegExp(`^${name}(?:_bucket)?\\{(.*)\\}`, "m").exec(text)?.[1];
    if (shown === undefined) continue; // it has no sample yet
    for (const label of labels.split(",")) assert.match(shown, new RegExp(`\\b${label}="`), name);
  }
});

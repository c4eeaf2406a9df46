import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { ownPlane, sharedProvider } from "../../support/planes/control_planes.ts";
import { Konnector } from "../../support/programs/konnector.ts";
import { Gateway } from "../../support/worlds/gateway_world.ts";
import { uniqueName } from "../../support/planes/kube.ts";

const METRIC =
  /\b(?:xbind|http_request|controller_runtime|workqueue|rest_client|leader_election|process)_[a-z_]+/g;

/** Returns the declared name of a metric: pages name histograms by their parts. */
const declared = (name: string): string => name.replace(/_(bucket|count|sum)$/, "");

/** Demands that every metric and label on a page is served. */
async function isServed(pageName: string, text: string): Promise<void> {
  const page = await Deno.readTextFile(new URL(`../../../docs/${pageName}`, import.meta.url));
  const named = new Set([...page.matchAll(METRIC)].map(([name]) => declared(name)));
  assert.ok(named.size > 8, [...named].join(", "));
  const served = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  assert.deepEqual([...named].filter((name) => !served.has(name)), []);

  for (const [, name = "", labels = ""] of page.matchAll(/\b([a-z_]+)\{([a-z,]+)\}/g)) {
    const shown = new RegExp(`^${name}(?:_bucket)?\\{(.*)\\}`, "m").exec(text)?.[1];
    if (shown === undefined) continue; // it has no sample yet
    for (const label of labels.split(",")) assert.match(shown, new RegExp(`\\b${label}="`), name);
  }
}

const metricsAt = async (address: string): Promise<string> =>
  await (await fetch(`${address}/metrics`)).text();

Deno.test("GET /metrics of the backend serves every metric and label in docs/operating.md", async () => {
  await using gateway = await Gateway.start(await sharedProvider(), {
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
    const served = await metricsAt(address);
    return served.includes('route="/api/healthz"') && served;
  });
  await isServed("operating.md", text);
});

Deno.test("GET /metrics of the konnector serves every metric and label in docs/konnector.md", async () => {
  await using plane = await ownPlane({ controllerManager: false });
  const crds = fileURLToPath(new URL("../../../crds", import.meta.url));
  const { code, stderr } = await plane.kubectl(["apply", "--server-side", "-f", crds]);
  assert.equal(code, 0, stderr);
  await using konnector = await Konnector.start(plane);
  const address = await konnector.addressOf("/metrics");
  const text = await eventually("the controllers run", async () => {
    const served = await metricsAt(address);
    return served.includes("workqueue_depth") && served;
  });
  await isServed("konnector.md", text);
});

import {
  CoordinationV1Api,
  CustomObjectsApi,
  KubeConfig,
  V1MicroTime,
} from "@kubernetes/client-node";
import assert from "node:assert/strict";
import { boundaryName, heartbeatLeaseName } from "../../../common/api/names.ts";
import type { KubeObject, Secret } from "../../../common/api/resources.ts";
import type { Identity } from "../../../common/api/wire.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { WIDGETS } from "../../support/planes/issuer_samples.ts";
import { Gateway, okJson } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";

const widgets = { group: "example.org", version: "v1", plural: "widgets" };

Deno.test("the issued kubeconfig works in @kubernetes/client-node", async (t) => {
  await using plane = await ownPlane();
  await using gateway = await Gateway.start(plane);
  using provider = await TestProvider.of(plane);
  await provider.define(WIDGETS);
  await provider.offerReady("widgets", [WIDGETS]);
  const { token } = await gateway.login();
  const { subject } = await gateway.read<Identity>(token, "/api/me");
  const { grant, pickupURL } = await gateway.bind(token, "widgets");
  const headers = { Accept: "application/json" };
  const { bundle } = await okJson<{ bundle: KubeObject[] }>(
    await gateway.request(pickupURL, { headers }),
  );
  const secret = bundle.find((object): object is Secret => object.kind === "Secret");

  const config = new KubeConfig();
  config.loadFromString(secret?.stringData?.["kubeconfig"] ?? "");
  const namespace = boundaryName(subject);
  assert.equal(config.getContextObject(config.getCurrentContext())?.namespace, namespace);

  await t.step("it can create and list Widgets", async () => {
    const api = config.makeApiClient(CustomObjectsApi);
    const body = { apiVersion: "example.org/v1", kind: "Widget", metadata: { name: "gear" } };
    await api.createNamespacedCustomObject({ ...widgets, namespace, body });
    const { items }: { items: KubeObject[] } = await api.listNamespacedCustomObject({
      ...widgets,
      namespace,
    });
    assert.deepEqual(items.map(({ metadata }) => metadata.name), ["gear"]);
  });

  await t.step("it can create and renew a heartbeat Lease", async () => {
    const api = config.makeApiClient(CoordinationV1Api);
    const name = heartbeatLeaseName(grant, "consumer-uid");
    const metadata = { name, namespace };
    const spec = { holderIdentity: "consumer-uid", leaseDurationSeconds: 60 };
    const created = await api.createNamespacedLease({
      namespace,
      body: { metadata, spec: { ...spec, renewTime: new V1MicroTime(0) } },
    });
    const renewTime = new V1MicroTime();
    await api.replaceNamespacedLease({
      name,
      namespace,
      body: { ...created, spec: { ...spec, renewTime } },
    });
    const { spec: renewed } = await api.readNamespacedLease({ name, namespace });
    // Its type is Date, but client-node 2.0.1 returns a string.
    assert.equal(Date.parse(String(renewed?.renewTime)), renewTime.getTime());
  });

  await t.step("it cannot list Grants", async () => {
    const api = config.makeApiClient(CustomObjectsApi);
    const grants = { group: "iam.xbind.io", version: "v1alpha1", plural: "grants" };
    await assert.rejects(api.listClusterCustomObject(grants), { code: 403 });
  });
});

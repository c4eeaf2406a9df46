import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { kubeconfigFor } from "../../../scripts/controlplane/kubeconfig.ts";
import {
  CLUSTER_BINDINGS,
  CONNECTIONS,
  EXPORTS,
  GRANTS,
  isReady,
  type KubeObject,
  type ResourceType,
  SECRETS,
} from "../../../common/api/resources.ts";
import type { ApplyResult } from "../../../common/api/wire.ts";
import { grantName } from "../../../common/api/names.ts";
import { sharedConsumer } from "../../support/planes/control_planes.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import { Gateway, okJson, postJson } from "../../support/worlds/gateway_world.ts";
import { WIDGETS } from "../../support/planes/issuer_samples.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";
import { connect } from "../../support/planes/kube.ts";
import { sealedSessions, sealedSubject } from "../../support/planes/sealed_sessions.ts";
import { killPoints, pointText, WriteGate } from "../../support/faults/write_gate.ts";
import { submitted } from "../../testdata/hostile_kubeconfigs/parts.ts";

const WHO = `crash-${crypto.randomUUID()}`;
const GRANT = grantName("widgets", sealedSubject(WHO));
const BUNDLE: [type: ResourceType, namespace?: string][] = [
  [SECRETS, "xbind"],
  [CONNECTIONS],
  [CLUSTER_BINDINGS],
];

// Booted outside the tests, because Deno fails a test that leaves a process running.
const consumerPlane = await sharedConsumer();
const consumer = await connect(consumerPlane);
const sessions = await sealedSessions();
const world = await IssuerWorld.start();
const gate = new WriteGate();
const proxy = await FaultProxy.start(consumerPlane);
proxy.faults = gate.faults;
await world.offer("widgets", [WIDGETS]);
await eventually("the Export is Ready", async () => {
  return isReady(await world.kube.get(EXPORTS, { name: "widgets" }));
});
const startGateway = () =>
  Gateway.start(world.plane, {
    flags: ["--enable-issuer=false", "--enable-apply"],
    env: sessions.env,
  });
let gateway = await startGateway();
Deno.test.afterAll(async () => {
  await removeBundle();
  await gateway[Symbol.asyncDispose]();
  consumer[Symbol.dispose]();
  await proxy[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const kubeconfig = submitted(kubeconfigFor({
  cluster: "consumer",
  server: proxy.server,
  caPem: proxy.caPem,
  user: "admin",
  credentials: { token: "the-proxy-speaks-for-us" },
}));
const request = { kubeconfig, export: "widgets", installKonnector: true };

const apply = async () =>
  await okJson<ApplyResult>(
    await gateway.as(await sessions.seal(WHO), "/api/apply", postJson(request)),
  );

async function removeBundle(): Promise<void> {
  for (const [type, namespace] of BUNDLE) {
    const key = { name: GRANT, namespace };
    if (await consumer.kube.find(type, key)) await consumer.kube.delete(type, key);
  }
}

/** The bundle on the consumer, without the fields that its API server sets. */
async function bundleOf(): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const [type, namespace] of BUNDLE) {
    const listed = await consumer.kube.list<KubeObject & { spec?: unknown; data?: unknown }>(
      type,
      namespace ? { namespace } : {},
    );
    for (const { kind, metadata, spec, data } of listed) {
      if (!metadata.name.startsWith(GRANT)) continue;
      found.push({ kind, name: metadata.name, labels: metadata.labels, spec, data });
    }
  }
  return found;
}

Deno.test("POST /api/apply can be repeated after a kill at any write to the consumer", async (t) => {
  const { applied } = await apply();
  const [writes, complete] = [[...gate.passed], await bundleOf()];
  await t.step("it writes each object of its answer once", () => {
    assert.equal(writes.length, applied.length);
    assert.deepEqual(new Set(writes.map((write) => write.split(" ")[0])), new Set(["patch"]));
    assert.equal(complete.length, BUNDLE.length);
  });
  for (const point of killPoints(writes)) {
    await t.step(`killed ${pointText(point)}`, async () => {
      await removeBundle();
      const victim = gateway;
      gate.ambush(point, () => victim.backend.signal("SIGKILL"));
      await assert.rejects(apply(), TypeError, "the connection broke");
      assert.ok(gate.isShut);
      assert.equal(await victim.backend.ended(), 137);
      await victim[Symbol.asyncDispose]();
      gate.open();
      gateway = await startGateway();
      assert.deepEqual((await apply()).applied, applied);
      assert.deepEqual(await bundleOf(), complete);
    });
  }
  await t.step("all applies share one Grant", async () => {
    const grants = await world.kube.list(GRANTS);
    assert.deepEqual(grants.map(({ metadata }) => metadata.name), [GRANT]);
  });
});

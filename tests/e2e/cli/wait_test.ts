import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CLUSTER_BINDINGS,
  CONNECTIONS,
  GRANTS,
  type KubeObject,
  NAMESPACES,
  type ResourceType,
} from "../../../common/api/resources.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { Backend } from "../../support/programs/backend.ts";
import { customType, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { objectsIn, TestKonnector } from "../../support/worlds/test_konnector.ts";
import { CliWorld } from "../../support/worlds/cli_world.ts";

const EXPORT = (timeout: string) => ["export", "widgets", `--timeout=${timeout}`];
const WAIT = (timeout: string) => [...EXPORT(timeout), "--wait"];

Deno.test("kubectl bind export waits:", async (t) => {
  await using world = await CliWorld.start("--enable-issuer=false");
  await using issuers = new AsyncDisposableStack();

  await t.step("without an issuer it gives up after --timeout, and writes nothing", async () => {
    const writes = await world.writesDuring(() => world.fails(EXPORT("2s"), 5, /Gave up after 2s/));
    assert.deepEqual(writes, []);
  });

  await t.step("it retries the bind until an issuer runs", async () => {
    const grants = async () =>
      (await world.provider.kube.list(GRANTS)).map(({ metadata }) => metadata.uid);
    await using running = world.startBind(EXPORT("3m"));
    const gatewayWait = { timeoutMs: 60_000 };
    await eventually(
      "it retries",
      () => /in time.*; asking again/.test(running.stderr),
      gatewayWait,
    );
    const before = await grants();
    assert.equal(before.length, 1);
    const flags = ["--enable-gateway=false"];
    issuers.use(await Backend.start(world.providerPlane, { flags }));
    const { code, stderr } = await running.ended();
    assert.equal(code, 0, stderr);
    assert.deepEqual(await world.boundKinds(), ["Secret", "Connection", "ClusterBinding"]);
    assert.deepEqual(await grants(), before);
  });

  await t.step("--wait prints the failed condition when --timeout is over", async () => {
    await world.judge(CONNECTIONS, "False", "no route to \x1b[31mthe provider");
    await world.judge(CLUSTER_BINDINGS, "True", "");
    const stderr = await world.fails(WAIT("10s"), 5, /Gave up after 10s: Connection\/widgets-/);
    assert.match(stderr, /Ready=False \(Unreachable\): no route to �\[31mthe provider\n/);
    assert.doesNotMatch(stderr, /Gave up.*ClusterBinding/);
    assert.match(stderr, /kubectl bind doctor/);
  });

  await t.step("--wait prints each condition until both objects are Ready", async () => {
    await using running = world.startBind(WAIT("60s"));
    await running.said(/Waiting for Connection\/widgets-\w+, ClusterBinding\/widgets-\w+/);
    await running.said(/ {2}Connection\/widgets-\w+ Ready=False/);
    await world.judge(CONNECTIONS, "True", "all is well");
    const { code, stderr } = await running.ended();
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Ready=True \(AsExpected\): all is well\n/);
    assert.match(stderr, /Nothing to sync yet: there are no objects of widgets\.example\.org\n/);
  });

  await t.step("--wait follows the objects of this cluster to the provider", async () => {
    await world.pull(["one", "two"]);
    const { uid = "" } = (await world.kube.get(NAMESPACES, { name: "kube-system" })).metadata;
    const found = await world.kube.get(CONNECTIONS, { name: world.grant });
    await world.kube.applyStatus(CONNECTIONS as ResourceType, {
      apiVersion: found.apiVersion,
      kind: found.kind,
      metadata: { name: world.grant },
      status: { localClusterUID: uid },
    } as KubeObject, FIELD_MANAGERS.cli);
    const bundle = objectsIn((await world.bind(["export", "widgets", "-oyaml"])).stdout);
    using konnector = await TestKonnector.start(bundle, uid);
    await konnector.beat();
    await konnector.sync(customType(WIDGETS), "default", "one");
    await using running = world.startBind(WAIT("60s"));
    await running.said(/synced 1 of 2 objects/);
    await konnector.sync(customType(WIDGETS), "default", "two");
    const { code, stderr } = await running.ended();
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^Synced 2 of 2 objects$/m);
  });

  await t.step("--wait tells of objects that do not arrive, and succeeds", async () => {
    await world.pull(["three"]);
    const { code, stderr } = await world.bind(WAIT("60s"));
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^Synced 2 of 3 objects; to see why 1 are not: kubectl bind doctor$/m);
  });

  await t.step("--wait stops on SIGINT", async () => {
    await world.judge(CONNECTIONS, "False", "down");
    await using running = world.startBind(WAIT("60s"));
    await running.said(/Ready=False/);
    running.kill("SIGINT");
    const { code, stderr } = await running.ended();
    assert.equal(code, 1);
    assert.doesNotMatch(stderr, /unexpected/);
  });
});

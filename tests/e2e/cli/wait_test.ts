import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CLUSTER_BINDINGS, CONNECTIONS, GRANTS } from "../../../common/api/resources.ts";
import { Backend } from "../../support/programs/backend.ts";
import { CliWorld } from "../../support/worlds/cli_world.ts";

Deno.test("kubectl bind export --wait", async (t) => {
  await using world = await CliWorld.start();
  const wait = (timeout: string) => ["export", "widgets", "--wait", `--timeout=${timeout}`];

  await t.step("prints the failed condition when --timeout is over", async () => {
    await world.lines(["export", "widgets"]);
    await world.judge(CONNECTIONS, "False", "no route to \x1b[31mthe provider");
    await world.judge(CLUSTER_BINDINGS, "True", "");
    const stderr = await world.fails(wait("10s"), 5, /Gave up after 10s: Connection\/widgets-/);
    assert.match(stderr, /Ready=False \(Unreachable\): no route to �\[31mthe provider\n/);
    assert.doesNotMatch(stderr, /Gave up.*ClusterBinding/);
    assert.match(stderr, /kubectl bind doctor/);
  });

  await t.step("prints each condition, and succeeds once both objects are Ready", async () => {
    await using running = world.startBind(wait("60s"));
    await running.said(/Waiting for Connection\/widgets-\w+, ClusterBinding\/widgets-\w+/);
    await running.said(/ {2}Connection\/widgets-\w+ Ready=False/);
    await world.judge(CONNECTIONS, "True", "all is well");
    const { code, stderr } = await running.ended();
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Ready=True \(AsExpected\): all is well\n/);
  });

  await t.step("stops on SIGINT", async () => {
    await world.judge(CONNECTIONS, "False", "down");
    await using running = world.startBind(wait("60s"));
    await running.said(/Ready=False/);
    running.kill("SIGINT");
    const { code, stderr } = await running.ended();
    assert.equal(code, 1);
    assert.doesNotMatch(stderr, /unexpected/);
  });
});

Deno.test("kubectl bind export without a running issuer", async (t) => {
  await using world = await CliWorld.start("--enable-issuer=false");
  await t.step("gives up after --timeout, and writes nothing", async () => {
    const writes = await world.writesDuring(() => world.fails(EXPORT("2s"), 5, /Gave up after 2s/));
    assert.deepEqual(writes, []);
  });

  await t.step("retries the bind until an issuer runs", async () => {
    const { uid } = (await world.provider.kube.list(GRANTS))[0]?.metadata ?? {};
    await using running = world.startBind(EXPORT("3m"));
    const gatewayWait = { timeoutMs: 60_000 };
    await eventually(
      "it retries",
      () => /in time.*; asking again/.test(running.stderr),
      gatewayWait,
    );
    await using _issuer = await Backend.start(world.providerPlane, {
      flags: ["--enable-gateway=false"],
    });
    const { code, stderr } = await running.ended();
    assert.equal(code, 0, stderr);
    assert.deepEqual(await world.boundKinds(), ["Secret", "Connection", "ClusterBinding"]);
    assert.deepEqual((await world.provider.kube.list(GRANTS)).map((grant) => grant.metadata.uid), [
      uid,
    ]);
  });
});

const EXPORT = (timeout: string) => ["export", "widgets", `--timeout=${timeout}`];

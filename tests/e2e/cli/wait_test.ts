import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CLUSTER_BINDINGS, CONNECTIONS, GRANTS } from "../../../common/api/resources.ts";
import { Backend } from "../../support/programs/backend.ts";
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

import assert from "node:assert/strict";
import { CORE_API_VERSION } from "../../../common/api/groups.ts";
import {
  CLUSTER_BINDINGS,
  CONNECTIONS,
  GRANTS,
  isDeleting,
  SECRETS,
} from "../../../common/api/resources.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CliWorld } from "../../support/worlds/cli_world.ts";

Deno.test("kubectl bind unbind", async (t) => {
  await using world = await CliWorld.start();
  const { grant } = world;
  const noSession = { env: { HOME: `${world.user.home}/absent` } };
  const inOrder = (what: string) => [...world.bundle].reverse().map((name) => `${name} ${what}`);
  const other = `widgets-${"0".repeat(20)}`;
  const makeOther = async () => {
    const kubeconfigSecretRef = { namespace: "xbind", name: other };
    await world.kube.apply(CONNECTIONS, {
      apiVersion: CORE_API_VERSION,
      kind: "Connection",
      metadata: { name: other },
      spec: { kubeconfigSecretRef },
    }, FIELD_MANAGERS.cli);
  };

  await t.step("finds nothing on an empty cluster", async () => {
    await world.fails(["unbind", "widgets"], 4, /has no binding of it/);
  });

  await t.step("deletes nothing with --dry-run", async () => {
    await world.lines(["export", "widgets"]);
    const writes = await world.writesDuring(async () => {
      const lines = await world.lines(["unbind", "widgets", "--dry-run"]);
      assert.deepEqual(lines, inOrder("would be deleted"));
    });
    assert.deepEqual(writes, []);
  });

  await t.step("deletes the caller's three objects, and says that the Grant stays", async () => {
    await makeOther();
    const { code, stdout, stderr } = await world.kubectl(["bind", "unbind", "widgets"]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(stdout.split("\n"), [...inOrder("deleted"), ""]);
    assert.match(stderr, new RegExp(`Grant ${grant} and its credential stay with the provider`));
    assert.deepEqual(await world.boundKinds(), []);
    assert.ok(await world.provider.kube.get(GRANTS, { name: grant }));
  });

  await t.step("deletes another user's bundle only by its Grant's name", async () => {
    await world.fails(["unbind", "widgets"], 4, new RegExp(`by another user: ${other}`));
    assert.ok(await world.kube.find(CONNECTIONS, { name: other }));
    assert.deepEqual(await world.lines(["unbind", other]), [`Connection/${other} deleted`]);
  });

  await t.step("deletes the only bundle of an Export without a session", async () => {
    await world.lines(["export", "widgets"]);
    await makeOther();
    await world.fails(["unbind", "widgets"], 4, /more than once: .*, .*/, noSession);
    await world.lines(["unbind", other], noSession);
    const { code, stdout, stderr } = await world.bind(["unbind", "widgets"], noSession);
    assert.equal(code, 0, stderr);
    assert.deepEqual(stdout.split("\n"), [...inOrder("deleted"), ""]);
    assert.match(stderr, /Not logged in: using/);
  });

  await t.step("keeps the credentials until the konnector has cleaned up", async () => {
    await world.lines(["export", "widgets"]);
    const hold = async (finalizers: string[]) => {
      const { metadata } = await world.kube.get(CLUSTER_BINDINGS, { name: grant });
      const { resourceVersion = "" } = metadata;
      await world.kube.mergePatch(CLUSTER_BINDINGS, { name: grant }, {
        metadata: { resourceVersion, finalizers },
      }, FIELD_MANAGERS.issuer);
    };
    await hold(["core.xbind.io/sync"]);
    const late = ["unbind", "widgets", "--timeout=5s"];
    await world.fails(late, 5, /finalizers \(core\.xbind\.io\/sync\) still hold it/);
    assert.deepEqual(await world.boundKinds(), ["Secret", "Connection", "ClusterBinding"]);
    await using running = world.startBind(["unbind", "widgets"]);
    await running.said(/Consumer cluster/);
    await eventually("the ClusterBinding is being deleted", async () => {
      const binding = await world.bound(CLUSTER_BINDINGS);
      return binding && isDeleting(binding);
    });
    assert.ok(await world.bound(SECRETS));
    await hold([]);
    const { code, stdout, stderr } = await running.ended();
    assert.equal(code, 0, stderr);
    assert.deepEqual(stdout.split("\n"), [...inOrder("deleted"), ""]);
  });
});

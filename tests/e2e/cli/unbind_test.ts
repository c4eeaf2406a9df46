import assert from "node:assert/strict";
import { CORE_API_VERSION } from "../../../common/api/groups.ts";
import {
  CLUSTER_BINDINGS,
  CONNECTIONS,
  CRDS,
  GRANTS,
  isDeleting,
  type KubeObject,
  type ResourceType,
  SECRETS,
} from "../../../common/api/resources.ts";
import { ANNOTATIONS, FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { customType, readyCondition, WIDGETS } from "../../support/planes/issuer_samples.ts";
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

  await t.step("says how many objects go, and deletes none without a yes", async () => {
    await world.lines(["export", "widgets"]);
    await world.pull(["one", "two", "three"]);
    const told = /Unbinding deletes 3 widgets\.example\.org on this cluster; their copies on the/;
    const writes = await world.writesDuring(async () => {
      const { code, stderr } = await world.bind(["unbind", "widgets", "--dry-run"]);
      assert.equal(code, 0, stderr);
      assert.match(stderr, told);
      assert.match(stderr, new RegExp(`annotate clusterbinding ${grant} core.xbind.io/keep-crd=`));
      assert.match(stderr, /core\.xbind\.io\/deletion-policy=Orphan/);
      await world.fails(
        ["unbind", "widgets"],
        2,
        /Cannot unbind Export "widgets": it would delete 3 objects .*\n.*--yes/,
      );
      const answers: [text: string, delay?: number][] = [
        ["n\n"],
        ["\n"],
        ["maybe\n"],
        ["\u0004"],
        // By then, script(1) has ended its input as well, and sends nothing more.
        ["\u0004", 4],
      ];
      for (const [answer, delay] of answers) {
        const asked = await world.onTerminal(["unbind", "widgets"], answer, delay);
        assert.equal(asked.code, 1, asked.stdout);
        assert.match(asked.stdout, told);
        assert.match(asked.stdout, /Unbind "widgets" and delete 3 objects\? \[y\/N\]/);
        assert.match(asked.stdout, /Nothing was changed/);
      }
    });
    assert.deepEqual(writes, []);
  });

  await t.step("unbinds after a yes, from a terminal or by --yes", async () => {
    const { code, stdout } = await world.onTerminal(["unbind", "widgets"], "y\n");
    assert.equal(code, 0, stdout);
    assert.deepEqual(await world.boundKinds(), []);
    await world.lines(["export", "widgets"]);
    assert.deepEqual(await world.lines(["unbind", "widgets", "--yes"]), inOrder("deleted"));
  });

  /** Changes the ClusterBinding. */
  const change = (fields: object) =>
    world.kube.patchFields(CLUSTER_BINDINGS, { name: grant }, fields, FIELD_MANAGERS.cli);
  /** Sets our finalizer on an object, which then has a copy, or takes it off. */
  const hold = (name: string, finalizers: string[] | null) =>
    world.kube.patchFields(
      customType(WIDGETS),
      { namespace: "default", name },
      { metadata: { finalizers } },
      FIELD_MANAGERS.konnector,
    );

  await t.step("says which copies go on the provider when the objects stay, and asks", async () => {
    await world.lines(["export", "widgets"]);
    await world.pull(["kept", "uncopied"]);
    await hold("kept", ["core.xbind.io/syncer"]);
    await change({ metadata: { annotations: { [ANNOTATIONS.keepCrd]: "true" } } });
    const { code, stderr } = await world.bind(["unbind", "widgets"]);
    assert.equal(code, 2, stderr);
    assert.match(
      stderr,
      /deletes the copies of 1 widgets\.example\.org on the provider; the objects/,
    );
    assert.match(stderr, /it would delete 1 copy on the provider/);
    assert.match(stderr, /To keep the copies: .*deletion-policy=Orphan/);
    assert.doesNotMatch(stderr, /To keep the objects/);
  });

  await t.step("counts the related copies that go", async () => {
    const { metadata: { uid = "" } } = await world.kube.get(CLUSTER_BINDINGS, { name: grant });
    const rule = (direction: string) => ({ group: "", resource: "secrets", direction });
    await change({ spec: { relatedResources: [rule("FromProvider"), rule("FromConsumer")] } });
    for (const [name, binding] of [["ours", uid], ["theirs", "another"]] as const) {
      await world.kube.create(SECRETS, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: {
          namespace: "default",
          name,
          labels: { [LABELS.managed]: "true" },
          annotations: { [ANNOTATIONS.relatedBinding]: binding },
        },
      }, FIELD_MANAGERS.konnectorRelated);
    }
    const { stderr } = await world.bind(["unbind", "widgets"]);
    assert.match(stderr, /deletes 1 related secrets on this cluster; the provider keeps its own/);
    assert.match(stderr, /deletes the copies of related secrets on the provider/);
    assert.match(stderr, /it would delete 1 object and 1 copy on the provider/);
    await change({ spec: { relatedResources: null } });
  });

  await t.step("asks nothing when objects and copies stay", async () => {
    await change({ metadata: { annotations: { [ANNOTATIONS.deletionPolicy]: "Orphan" } } });
    const { code, stderr } = await world.bind(["unbind", "widgets"]);
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stderr, /Unbinding deletes/);
    await hold("kept", null);
    await world.kube.delete(CRDS, { name: WIDGETS });
  });

  await t.step("keeps the credentials until the konnector has cleaned up", async () => {
    await world.lines(["export", "widgets"]);
    const holdBinding = async (finalizers: string[]) => {
      const { metadata } = await world.kube.get(CLUSTER_BINDINGS, { name: grant });
      const { resourceVersion = "" } = metadata;
      await world.kube.mergePatch(CLUSTER_BINDINGS, { name: grant }, {
        metadata: { resourceVersion, finalizers },
      }, FIELD_MANAGERS.issuer);
    };
    await holdBinding(["core.xbind.io/sync"]);
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
    const binding = await world.kube.get(CLUSTER_BINDINGS, { name: grant });
    const reason = "DrainingObjects";
    const message = "37 of 40 objects are left to release";
    await world.kube.applyStatus(CLUSTER_BINDINGS as ResourceType, {
      apiVersion: binding.apiVersion,
      kind: binding.kind,
      metadata: { name: grant },
      status: { conditions: [readyCondition(binding, { status: "False", reason, message })] },
    } as KubeObject, FIELD_MANAGERS.issuer);
    await running.said(/37 of 40 objects are left to release\n/);
    assert.doesNotMatch(running.stderr, /to release, of/);
    await holdBinding([]);
    const { code, stdout, stderr } = await running.ended();
    assert.equal(code, 0, stderr);
    assert.deepEqual(stdout.split("\n"), [...inOrder("deleted"), ""]);
  });
});

import assert from "node:assert/strict";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  CRDS,
  EXPORTS,
  GRANTS,
  type KubeObject,
  LEASES,
  NAMESPACES,
  type RelatedResource,
  type ResourceType,
  SECRETS,
} from "../../../common/api/resources.ts";
import type { Clusters, Instances } from "../../../common/api/wire.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CliWorld } from "../../support/worlds/cli_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";
import { customType, issuedKeys, WIDGETS } from "../../support/planes/issuer_samples.ts";

const TYPE: ResourceType<KubeObject & { spec?: object; status?: object }> = customType(WIDGETS);
const KEY = { namespace: "default", name: "one" };

Deno.test("a user binds, uses, lists and unbinds an Export", async (t) => {
  await using world = await CliWorld.start();
  const { provider, kube, grant, exportName } = world;
  const list = async <T>(what: string): Promise<T> =>
    JSON.parse((await world.lines([what, "-o", "json"])).join("\n"));
  const wait = ["export", exportName, "--wait", "--timeout=60s"];
  await using binding = world.startBind(wait);
  await using konnector = await world.startKonnector("--cluster-name=whole-loop");

  await t.step("kubectl bind export --wait ends", async () => {
    const { code, stderr } = await binding.ended();
    assert.equal(code, 0, `${stderr}\n${konnector.lines.join("\n")}`);
    assert.deepEqual(await world.boundKinds(), ["Secret", "Connection", "ClusterBinding"]);
  });

  await t.step("a widget travels up, and its status travels down", async () => {
    const widget = { apiVersion: "example.org/v1", kind: TYPE.kind, metadata: KEY, spec: { n: 1 } };
    await kube.create(TYPE, widget, FIELD_MANAGERS.installer);
    const copy = await eventually("the copy", () => provider.kube.get(TYPE, KEY));
    assert.deepEqual(copy.spec, { n: 1 });
    await provider.setStatus(TYPE, KEY, { phase: "Ready" });
    await eventually("the status", async () => (await kube.get(TYPE, KEY)).status);
  });

  await t.step("clusters and instances show it", async () => {
    const { uid } = (await kube.get(NAMESPACES, { name: "kube-system" })).metadata;
    const cluster = await eventually("the cluster has one object", async () => {
      const { clusters, pending = [] } = await list<Clusters>("clusters");
      assert.deepEqual(pending, []);
      return clusters.find(({ bindings: [first] }) => first?.apis[0]?.syncedCount === 1);
    });
    assert.equal(cluster.uid, uid);
    assert.equal(cluster.name, "whole-loop");
    const [header = "", row = ""] = await world.lines(["clusters"]);
    assert.match(header, /^CLUSTER +LIVE .* SYNCED +PROBLEMS$/);
    assert.match(row, /^whole-loop +yes .* 1 +\S+$/);
    assert.equal(cluster.live, true);
    assert.deepEqual(cluster.bindings.map((each) => [each.grant, each.live]), [[grant, true]]);
    const instances = JSON.stringify(await list<Instances>("instances"));
    assert.match(instances, /"name":"one"/);
    assert.match(instances, new RegExp(`"clusterUID":"${uid}"`));
  });

  await t.step("an object in conflict is shown with its reason", async () => {
    const taken = { namespace: "default", name: "taken" };
    const widget = {
      apiVersion: "example.org/v1",
      kind: TYPE.kind,
      metadata: taken,
      spec: { n: 1 },
    };
    await provider.kube.create(TYPE, widget, FIELD_MANAGERS.installer);
    await kube.create(TYPE, widget, FIELD_MANAGERS.installer);
    const lines = await eventually("the problem is told", async () => {
      const lines = await world.lines(["instances", exportName]);
      return lines.some((line) => line.startsWith("NOT SYNCED")) && lines;
    }, { timeoutMs: 60_000 });
    assert.match(
      lines.at(-1) ?? "",
      /^widgets\.example\.org +default +taken +whole-loop .* Foreign/,
    );
    const { stdout } = await world.bind(["doctor"]);
    assert.match(stdout, /^warning +objects .* default\/taken: ForeignObjectExists\. /m);
    await kube.delete(TYPE, taken);
    await isGone(kube, TYPE, taken);
    assert.ok(await provider.kube.get(TYPE, taken), "the foreign object stays");
    await provider.kube.delete(TYPE, taken);
  });

  await t.step("a changed policy arrives with the next bind --wait", async () => {
    await provider.edit(EXPORTS, { name: exportName }, {
      spec: { defaults: { conflictPolicy: "Adopt" } },
    });
    await eventually("the policy arrives", async () => {
      const { code, stderr } = await world.bind(wait);
      assert.equal(code, 0, stderr);
      assert.match(stderr, /^Synced 1 of 1 objects$/m);
      const { spec } = await kube.get(CLUSTER_BINDINGS, { name: grant });
      return spec.conflictPolicy === "Adopt";
    });
    assert.ok(await provider.kube.get(TYPE, KEY));
  });

  await t.step("a related Secret of the consumer is shown once, under its Export", async () => {
    const selector = { labelSelector: { matchLabels: { "example.org/input": "yes" } } };
    const relatedResources: RelatedResource[] = [
      { resource: "secrets", direction: "FromConsumer", selector },
    ];
    await provider.edit(EXPORTS, { name: exportName }, {
      spec: { defaults: { relatedResources } },
    });
    await provider.offerReady("other", [WIDGETS], { defaults: { relatedResources } });
    await eventually("the rule arrives", async () => {
      await world.lines(wait);
      const { spec } = await kube.get(CLUSTER_BINDINGS, { name: grant });
      return spec.relatedResources?.length === 1;
    });
    const labels = selector.labelSelector.matchLabels;
    for (const name of ["input", "private"]) {
      const metadata = { name, namespace: "default", ...(name === "input" ? { labels } : {}) };
      const secret = { apiVersion: "v1", kind: "Secret", metadata, stringData: { a: "b" } };
      await kube.create(SECRETS, secret, FIELD_MANAGERS.installer);
    }
    const rows = await eventually("the Secret is listed", async () => {
      const found = JSON.stringify(await list("instances"));
      return found.includes('"related":true') && found;
    });
    const { uid } = (await kube.get(NAMESPACES, { name: "kube-system" })).metadata;
    assert.equal(rows.split('"name":"input"').length, 2, rows);
    assert.doesNotMatch(rows, /private/);
    const listed: Instances = JSON.parse(
      (await world.lines(["instances", exportName, "-o", "json"])).join("\n"),
    );
    const { createdAt: _, identity, ...row } = listed.instances.find(({ related }) => related) ??
      assert.fail(rows);
    assert.ok(identity);
    assert.deepEqual(row, {
      api: "secrets",
      related: true,
      direction: "FromConsumer",
      namespace: "default",
      name: "input",
      clusterUID: uid,
      clusterName: "whole-loop",
    });
    const table = (await world.lines(["instances", exportName])).join("\n");
    assert.match(table, /input/);
  });

  await t.step("unbind leaves nothing behind", async () => {
    await world.fails(["unbind", exportName], 2, /it would delete 1 object as above/);
    assert.ok(await kube.get(TYPE, KEY));
    const unbind = await world.bind(["unbind", exportName, "--yes", "--timeout=30s"]);
    assert.equal(unbind.code, 0, `${unbind.stderr}\n${konnector.lines.join("\n")}`);
    assert.deepEqual(await world.boundKinds(), []);
    assert.equal(await provider.kube.find(TYPE, KEY), undefined);
    const input = { namespace: "default", name: "input" };
    assert.equal(await provider.kube.find(SECRETS, input), undefined);
    assert.ok(await kube.get(SECRETS, input), "the consumer keeps its own");
    await isGone(kube, CRDS, { name: WIDGETS });
    const { status: { namespace = "" } = {} } = await provider.kube.get(GRANTS, { name: grant });
    assert.deepEqual(await provider.kube.list(LEASES, { namespace }), []);
    const { clusters } = await list<Clusters>("clusters");
    assert.deepEqual(clusters, []);
  });

  await t.step("a deleted Grant leaves nothing behind", async () => {
    const found = await provider.kube.get(GRANTS, { name: grant });
    await provider.kube.delete(GRANTS, { name: grant });
    await isGone(provider.kube, GRANTS, { name: grant });
    const [, ...keys] = issuedKeys(found);
    for (const [type, key] of keys) await isGone(provider.kube, type, key);
  });

  await t.step("the konnector had no trouble", () => {
    const troubles = konnector.log.filter(({ level }) => level === "error");
    assert.deepEqual(troubles, []);
  });
});

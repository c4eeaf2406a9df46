import assert from "node:assert/strict";
import { ANNOTATIONS, FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import {
  type Binding,
  BINDINGS,
  CLUSTER_BINDINGS,
  condition,
  CONFIG_MAPS,
  type KubeObject,
  NAMESPACES,
  SECRETS,
} from "../../../common/api/resources.ts";
import { uniqueName } from "../../support/planes/kube.ts";
import { aWhile, told } from "../../support/worlds/konnector_steps.ts";
import {
  bindingIn,
  bindingOf,
  connectionOf,
  KonnectorWorld,
} from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";
import { DIRECTIONS, RelatedSteps, RESOURCES, rule } from "../../support/worlds/related_steps.ts";

const world = await KonnectorWorld.start();
const { consumer } = world;
const related = new RelatedSteps(world);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

for (const [direction, from, to] of DIRECTIONS) {
  for (const resource of RESOURCES) {
    Deno.test(`${resource} ${direction} are copied by their label, and follow it`, async () => {
      const label = uniqueName("label");
      const bound = await world.bind("copy", {
        relatedResources: [rule(resource, direction, { label })],
      });
      const namespace = uniqueName("only-at-the-source");
      const key = { namespace, name: "a" };
      const labels = [label, "tier"];
      const created = await related.writes(async () => {
        await related.put(from, resource, key, "one", { labels });
        await related.put(from, resource, { namespace, name: "other" }, "other");
        await related.has(to, resource, key, "one");
      });
      assert.deepEqual(created, [`patch ${resource}`, "create namespaces", `patch ${resource}`]);
      const { metadata, type } = await related.has(to, resource, key, "one");
      const { uid } = (await consumer.kube.get(NAMESPACES, { name: "kube-system" })).metadata;
      const carried = direction === "FromConsumer" ? { [label]: "yes", tier: "yes" } : {};
      assert.deepEqual(metadata.labels, {
        ...carried,
        [LABELS.managed]: "true",
        [LABELS.consumerClusterUid]: uid,
      });
      const binding = await consumer.kube.get(CLUSTER_BINDINGS, { name: bound.name });
      const { [ANNOTATIONS.syncedHash]: hash, ...marks } = metadata.annotations ?? {};
      assert.ok(hash);
      assert.deepEqual(marks, {
        [ANNOTATIONS.consumerClusterUid]: uid,
        [ANNOTATIONS.connection]: bound.name,
        [ANNOTATIONS.relatedBinding]: binding.metadata.uid,
      });
      assert.equal(metadata.managedFields?.[0]?.manager, FIELD_MANAGERS.konnectorRelated);
      assert.equal(type, resource === "secrets" ? "Opaque" : undefined);

      const edited = await related.writes(async () => {
        await related.write(from, resource, key, "two");
        await related.has(to, resource, key, "two");
      });
      assert.deepEqual(edited, [`patch ${resource}`]);
      assert.equal(await related.find(to, resource, { namespace, name: "other" }), undefined);

      const unlabelled = await related.writes(async () => {
        await related.patch(from, resource, key, [{
          op: "remove",
          path: `/metadata/labels/${label}`,
        }]);
        await related.gone(to, resource, key);
      });
      assert.deepEqual(unlabelled, [`delete ${resource}`]);
      await related.patch(from, resource, key, [
        { op: "add", path: `/metadata/labels/${label}`, value: "yes" },
      ]);
      await related.has(to, resource, key, "two");
      await related.delete(from, resource, key);
      await related.gone(to, resource, key);
    });
  }
}

Deno.test("names and labels must both match, and a rule without either selects all", async () => {
  const label = uniqueName("label");
  const namespace = uniqueName("both");
  const bound = await world.bind("names", {
    relatedResources: [rule("secrets", "FromProvider", { label, names: ["a", "b"] })],
  });
  const put = (name: string, labels: string[]) =>
    related.put("provider", "secrets", { namespace, name }, name, { labels });
  await put("b", []);
  await put("c", [label]);
  await put("a", [label]);
  await related.has("consumer", "secrets", { namespace, name: "a" }, "a");
  await aWhile();
  const names = async () =>
    (await consumer.kube.list(SECRETS, { namespace })).map(({ metadata }) => metadata.name);
  assert.deepEqual(await names(), ["a"]);
  await related.setRules(bound, [rule("secrets", "FromProvider")]);
  for (const name of ["a", "b", "c"]) {
    await related.has("consumer", "secrets", { namespace, name }, name);
  }
  await related.setRules(bound, []);
  for (const name of ["a", "b", "c"]) {
    await related.gone("consumer", "secrets", { namespace, name });
  }
});

Deno.test("copies are collected over the union of all rules of all bindings", async () => {
  const [one, two] = [uniqueName("one"), uniqueName("two")];
  const namespace = uniqueName("union");
  const [x, y] = [{ namespace, name: "x" }, { namespace, name: "y" }];
  const bound = await world.bind("union", {
    relatedResources: [
      rule("configmaps", "FromProvider", { label: one }),
      rule("configmaps", "FromProvider", { label: two }),
    ],
  });
  await related.put("provider", "configmaps", x, "x", { labels: [one] });
  await related.put("provider", "configmaps", y, "y", { labels: [two] });
  await related.has("consumer", "configmaps", x, "x");
  await related.has("consumer", "configmaps", y, "y");
  // A second binding of the Connection wants one of them, too.
  const second = bindingIn(namespace, bound, {
    relatedResources: [rule("configmaps", "FromProvider", { names: ["x"] })],
  }) as Binding;
  const writes = await related.writes(async () => {
    await consumer.kube.create(BINDINGS, second, FIELD_MANAGERS.installer);
    await world.isReady(BINDINGS, { namespace, name: bound.name });
  });
  assert.deepEqual(writes.filter((each) => each.includes("configmaps")), []);
  await related.setRules(bound, [rule("configmaps", "FromProvider", { label: two })]);
  const { metadata: { uid } } = await consumer.kube.get(BINDINGS, { namespace, name: bound.name });
  await world.onConsumer(CONFIG_MAPS, x, ({ metadata }) => {
    return metadata.annotations?.[ANNOTATIONS.relatedBinding] === uid;
  });
  await consumer.kube.delete(BINDINGS, { namespace, name: bound.name });
  await isGone(consumer.kube, BINDINGS, { namespace, name: bound.name });
  assert.equal(await related.find("consumer", "configmaps", x), undefined);
  await related.has("consumer", "configmaps", y, "y");
});

Deno.test("a Binding copies in its own namespace only", async () => {
  const label = uniqueName("label");
  const bound = await world.bind("own", {
    isApplied: false,
    relatedResources: [
      rule("secrets", "FromProvider", { label }),
      rule("secrets", "FromConsumer", { names: ["up"] }),
    ],
  });
  const { namespace, name, bundle: [secret, connection] } = bound;
  const { relatedResources } = bindingOf(bound).spec;
  const other = await world.namespace("elsewhere");
  for (const each of [namespace, other]) {
    await related.put("provider", "secrets", { namespace: each, name: "down" }, "d", {
      labels: [label],
    });
    await related.put("consumer", "secrets", { namespace: each, name: "up" }, "u");
  }
  await world.apply([secret, connection] as KubeObject[]);
  const binding = bindingIn(namespace, bound, { relatedResources });
  await consumer.kube.create(BINDINGS, binding as Binding, FIELD_MANAGERS.installer);
  await related.has("consumer", "secrets", { namespace, name: "down" }, "d");
  await related.has("provider", "secrets", { namespace, name: "up" }, "u");
  await aWhile();
  assert.equal(
    await related.find("consumer", "secrets", { namespace: other, name: "down" }),
    undefined,
  );
  assert.equal(
    await related.find("provider", "secrets", { namespace: other, name: "up" }),
    undefined,
  );
  await consumer.kube.delete(BINDINGS, { namespace, name });
  await isGone(consumer.kube, BINDINGS, { namespace, name });
  assert.equal(await related.find("consumer", "secrets", { namespace, name: "down" }), undefined);
  assert.equal(await related.find("provider", "secrets", { namespace, name: "up" }), undefined);
});

Deno.test("an immutable copy whose source changed is replaced", async () => {
  const label = uniqueName("label");
  await world.bind("fixed", { relatedResources: [rule("secrets", "FromProvider", { label })] });
  const key = { namespace: uniqueName("fixed"), name: "a" };
  const options = { labels: [label], immutable: true, type: "example.org/one" };
  await related.put("provider", "secrets", key, "one", options);
  const first = await related.has("consumer", "secrets", key, "one");
  assert.equal(first.immutable, true);
  assert.equal(first.type, "example.org/one");
  await related.delete("provider", "secrets", key);
  await related.put("provider", "secrets", key, "two", { ...options, type: "example.org/two" });
  const second = await related.has("consumer", "secrets", key, "two");
  assert.notEqual(second.metadata.uid, first.metadata.uid);
  assert.equal(second.type, "example.org/two");
});

Deno.test("a copy that others change or delete is repaired", async () => {
  const label = uniqueName("label");
  const { name } = await world.bind("repair", {
    relatedResources: [rule("secrets", "FromConsumer", { label })],
  });
  const key = { namespace: uniqueName("repair"), name: "a" };
  await related.put("consumer", "secrets", key, "mine", { labels: [label] });
  await related.has("provider", "secrets", key, "mine");
  await related.write("provider", "secrets", key, "theirs");
  await related.has("provider", "secrets", key, "mine");
  const { metadata } = await related.has("provider", "secrets", key, "mine");
  await related.delete("provider", "secrets", key);
  const again = await related.has("provider", "secrets", key, "mine");
  assert.notEqual(again.metadata.uid, metadata.uid);

  for (const value of ["x", "y"]) {
    await related.write("provider", "secrets", key, value);
    await related.has("provider", "secrets", key, "mine");
  }
  const { note } = await told(world, { type: CLUSTER_BINDINGS, namespace: "" }, name, "Fight");
  assert.match(note, /^meddler keeps changing the copy of secrets /);
  const { message } = await world.konnector.logged("another writer disputes a related copy");
  assert.equal(message, note);
});

Deno.test("two Connections to one provider share a copy, and the second keeps it", async () => {
  const label = uniqueName("label");
  const bound = await world.bind("shared", {
    relatedResources: [rule("secrets", "FromConsumer", { label })],
  });
  const key = { namespace: uniqueName("shared"), name: "a" };
  await related.put("consumer", "secrets", key, "one", { labels: [label] });
  await related.has("provider", "secrets", key, "one");
  const next = uniqueName("next");
  const { spec } = bindingOf(bound);
  await world.apply([
    { ...connectionOf(bound), metadata: { name: next } },
    {
      ...bindingOf(bound),
      metadata: { name: next },
      spec: { ...spec, connectionRef: { name: next } },
    } as KubeObject,
  ]);
  const waiting = await world.hasCondition(CLUSTER_BINDINGS, { name: next }, "Connected", "True");
  await aWhile();
  assert.equal(condition(waiting, "Conflicts")?.status, "False");
  await consumer.kube.delete(CLUSTER_BINDINGS, { name: bound.name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name: bound.name });
  await world.onProvider(SECRETS, key, ({ metadata }) => {
    return metadata.annotations?.[ANNOTATIONS.connection] === next;
  });
  await related.has("provider", "secrets", key, "one");
});

import assert from "node:assert/strict";
import { ANNOTATIONS } from "../../../common/api/names.ts";
import { CLUSTER_BINDINGS, condition } from "../../../common/api/resources.ts";
import { uniqueName } from "../../support/planes/kube.ts";
import { aWhile, told } from "../../support/worlds/konnector_steps.ts";
import { bindingOf, type Bound, KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";
import { DIRECTIONS, RelatedSteps, RESOURCES, rule } from "../../support/worlds/related_steps.ts";

const world = await KonnectorWorld.start();
const { consumer } = world;
const related = new RelatedSteps(world);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
Deno.test.afterEach(() => void (world.providerProxy.faults = () => undefined));

for (const [direction, from, to] of DIRECTIONS) {
  Deno.test(`${direction}: a foreign object in the place of a copy is kept and reported`, async () => {
    const label = uniqueName("label");
    const bound = await world.bind("foreign", {
      relatedResources: [rule("secrets", direction, { label })],
    });
    const { name } = bound;
    const key = { namespace: uniqueName("taken"), name: "a" };
    const foreign = await related.put(to, "secrets", key, "foreign");
    await related.put(from, "secrets", key, "source", { labels: [label] });
    const shown = await world.hasCondition(
      CLUSTER_BINDINGS,
      { name },
      "Conflicts",
      "True",
      "ForeignObjectExists",
    );
    assert.match(condition(shown, "Conflicts")?.message ?? "", new RegExp(`${key.namespace}/a`));
    assert.equal(condition(shown, "Ready")?.status, "True");
    const place = { type: CLUSTER_BINDINGS, namespace: "" } as unknown as Bound;
    const { note } = await told(world, place, name, "ForeignObjectExists");
    assert.match(note, new RegExp(`${key.namespace}/a`));
    assert.deepEqual(await related.find(to, "secrets", key), foreign);
    const writes = await world.writesDuring(async () => {
      await world.restart();
      const { message } = await world.konnector.logged("a related object is not copied");
      assert.equal(message, note);
      await aWhile();
    });
    assert.deepEqual(writes, { consumer: [], provider: [] });
    await related.delete(to, "secrets", key);
    await related.write(from, "secrets", key, "source");
    await related.write(from, "secrets", key, "source 2");
    await related.has(to, "secrets", key, "source 2");
    await world.hasCondition(CLUSTER_BINDINGS, { name }, "Conflicts", "False");
    await consumer.kube.delete(CLUSTER_BINDINGS, { name });
    await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
    assert.equal(await related.find(to, "secrets", key), undefined);
    await related.has(from, "secrets", key, "source 2");
  });
}

Deno.test("a copy is never copied back", async () => {
  const name = uniqueName("ping");
  const names = [name];
  const bound = await world.bind("pong", {
    relatedResources: [
      rule("configmaps", "FromProvider", { names }),
      rule("configmaps", "FromConsumer", { names }),
    ],
  });
  const [down, up] = [{ namespace: uniqueName("down"), name }, {
    namespace: uniqueName("up"),
    name,
  }];
  await related.put("provider", "configmaps", down, "d");
  await related.put("consumer", "configmaps", up, "u");
  await related.has("consumer", "configmaps", down, "d");
  await related.has("provider", "configmaps", up, "u");
  const writes = await related.writes(() => Promise.resolve());
  assert.deepEqual(writes, []);
  const binding = await consumer.kube.get(CLUSTER_BINDINGS, { name: bound.name });
  assert.equal(condition(binding, "Conflicts")?.status, "False");
  await related.delete("provider", "configmaps", down);
  await related.gone("consumer", "configmaps", down);
});

Deno.test("a restart writes nothing, and catches up with what changed meanwhile", async () => {
  const label = uniqueName("label");
  const bound = await world.bind("restart", {
    relatedResources: RESOURCES.flatMap((resource) =>
      DIRECTIONS.map(([direction]) => rule(resource, direction, { label }))
    ),
  });
  const namespace = uniqueName("restart");
  const [down, up] = [{ namespace, name: "down" }, { namespace, name: "up" }];
  for (const resource of RESOURCES) {
    await related.put("provider", resource, down, "one", { labels: [label] });
    await related.put("consumer", resource, up, "one", { labels: [label] });
    await related.has("consumer", resource, down, "one");
    await related.has("provider", resource, up, "one");
  }
  const writes = await related.writes(async () => {
    await world.restart();
    await world.konnector.logged("listening");
    await world.isReady(CLUSTER_BINDINGS, { name: bound.name });
    await aWhile(2_000);
  });
  assert.deepEqual(writes, []);

  await world.kill();
  for (const resource of RESOURCES) {
    await related.write("provider", resource, down, "two");
    await related.delete("consumer", resource, up);
  }
  await world.restart();
  for (const resource of RESOURCES) {
    await related.has("consumer", resource, down, "two");
    await related.gone("provider", resource, up);
  }

  // A rule that goes while no konnector runs leaves no copy either.
  await world.kill();
  await related.setRules(bound, []);
  await world.restart();
  for (const resource of RESOURCES) await related.gone("consumer", resource, down);
});

Deno.test("a provider that is away makes no copy go", async () => {
  const label = uniqueName("label");
  const bound = await world.bind("away", {
    relatedResources: DIRECTIONS.map(([direction]) => rule("secrets", direction, { label })),
  });
  const namespace = uniqueName("away");
  const [down, up] = [{ namespace, name: "down" }, { namespace, name: "up" }];
  await related.put("provider", "secrets", down, "one", { labels: [label] });
  await related.put("consumer", "secrets", up, "one", { labels: [label] });
  const copy = await related.has("consumer", "secrets", down, "one");
  await related.has("provider", "secrets", up, "one");
  world.providerProxy.faults = () => ({ kind: "status", code: 503 });
  world.providerProxy.watches.cut();
  await related.write("provider", "secrets", down, "two");
  await related.delete("consumer", "secrets", up);
  const writes = await related.writes(() => aWhile(3_000));
  assert.deepEqual(writes, []);
  assert.deepEqual(await related.find("consumer", "secrets", down), copy);
  world.providerProxy.faults = () => undefined;
  await related.has("consumer", "secrets", down, "two");
  await related.gone("provider", "secrets", up);
  await world.isReady(CLUSTER_BINDINGS, { name: bound.name });
});

Deno.test("copies on the consumer go with their binding, also while the provider is away", async () => {
  const label = uniqueName("label");
  const { name } = await world.bind("alone", {
    relatedResources: [rule("secrets", "FromProvider", { label })],
  });
  const key = { namespace: uniqueName("alone"), name: "a" };
  await related.put("provider", "secrets", key, "one", { labels: [label] });
  await related.has("consumer", "secrets", key, "one");
  world.providerProxy.faults = () => ({ kind: "status", code: 503 });
  world.providerProxy.watches.cut();
  await aWhile();
  await consumer.kube.delete(CLUSTER_BINDINGS, { name });
  await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
  assert.equal(await related.find("consumer", "secrets", key), undefined);
  await related.has("provider", "secrets", key, "one");
});

Deno.test("unbinding takes the copies on both sides away, and Orphan leaves the provider's", async () => {
  for (const policy of ["Delete", "Orphan"]) {
    const label = uniqueName("label");
    const bound = await world.bind("unbind", {
      relatedResources: DIRECTIONS.map(([direction]) => rule("secrets", direction, { label })),
    });
    const { name } = bound;
    const namespace = uniqueName("unbind");
    const [down, up] = [{ namespace, name: "down" }, { namespace, name: "up" }];
    await related.put("provider", "secrets", down, "d", { labels: [label] });
    await related.put("consumer", "secrets", up, "u", { labels: [label] });
    await related.has("consumer", "secrets", down, "d");
    await related.has("provider", "secrets", up, "u");
    const annotations = { [ANNOTATIONS.deletionPolicy]: policy };
    await world.apply([{ ...bindingOf(bound), metadata: { name, annotations } }]);
    await consumer.kube.delete(CLUSTER_BINDINGS, { name });
    await isGone(consumer.kube, CLUSTER_BINDINGS, { name });
    assert.equal(await related.find("consumer", "secrets", down), undefined);
    await related.has("provider", "secrets", down, "d");
    await related.has("consumer", "secrets", up, "u");
    const left = await related.find("provider", "secrets", up);
    assert.equal(left !== undefined, policy === "Orphan");
  }
});

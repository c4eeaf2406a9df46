import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CONFIG_MAPS,
  type LabelSelector,
  type ObjectMeta,
  SECRETS,
} from "../../../common/api/resources.ts";
import type { Clusters, Instances } from "../../../common/api/wire.ts";
import type { ApiObjects } from "../../../server/inventory/api_watch.ts";
import type { InventoryAnswer } from "../../../server/inventory/inventory.ts";
import { matchesSelector, selectorText } from "../../../common/api/selector.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { answerWhen, decoded, places } from "../../support/worlds/inventory_answers.ts";
import { InventoryWorld, synced } from "../../support/worlds/inventory_world.ts";
import { configMap, plainSecret } from "../../support/planes/kube.ts";

const { cli } = FIELD_MANAGERS;

// Started outside the tests: Deno would report it as a leak of the test that starts it.
const provider = await sharedProvider();

Deno.test("ApiCaches selects by labels as the API server does", async (t) => {
  await using world = await InventoryWorld.start(provider);
  const { namespace, id } = world;
  const key = `example.org/${id}`;
  const objects = {
    x: { [key]: "x" },
    y: { [key]: "y", more: "" },
    empty: { [key]: "" },
    bare: {},
  };
  for (const [name, labels] of Object.entries(objects)) {
    await world.kube.create(CONFIG_MAPS, configMap(namespace, name, {}, labels), cli);
  }
  const selectors: LabelSelector[] = [
    { matchLabels: { [key]: "x" } },
    { matchLabels: { [key]: "" } },
    { matchExpressions: [{ key, operator: "In", values: ["y", "x"] }] },
    { matchExpressions: [{ key, operator: "In", values: [""] }] },
    { matchExpressions: [{ key, operator: "In", values: ["", "y"] }] },
    { matchExpressions: [{ key, operator: "NotIn", values: ["x"] }] },
    { matchExpressions: [{ key, operator: "Exists" }] },
    { matchExpressions: [{ key, operator: "DoesNotExist" }] },
    { matchLabels: { more: "" }, matchExpressions: [{ key, operator: "Exists" }] },
    {},
  ];
  await using at = await world.inventory();
  for (const labelSelector of selectors) {
    await t.step(selectorText(labelSelector) || "everything", async () => {
      const rule = { resource: "configmaps", selector: { labelSelector } } as const;
      const found = await at.apis.providerObjects(rule);
      const names = [...found?.values() ?? []].map(({ metadata }) => metadata)
        .filter((each) => each.namespace === namespace && each.name in objects)
        .map(({ name }) => name);
      const expected = Object.entries(objects)
        .filter(([, labels]) => matchesSelector(labels, labelSelector)).map(([name]) => name);
      assert.deepEqual(names.sort(), expected.sort());
    });
  }
});

Deno.test("ApiCaches holds only the metadata of selected objects, and no secret", async () => {
  await using world = await InventoryWorld.start(provider);
  const { namespace, id } = world;
  // kubectl apply, because its last-applied annotation holds the whole Secret.
  const apply = async (
    place: string,
    name: string,
    { labels, annotations }: Partial<ObjectMeta>,
  ) => {
    const metadata = { labels: { ...labels, [id]: "yes" }, ...(annotations && { annotations }) };
    const stdin = JSON.stringify(plainSecret(place, `${name}-${id}`, metadata));
    const { code, stderr } = await provider.kubectl(["apply", "-f", "-"], { stdin });
    assert.equal(code, 0, stderr);
  };
  for (const name of ["ca", "tls", "other"]) await apply(namespace, name, {});
  // Copies of consumers with the same names and labels in another namespace.
  const copyNamespace = `${namespace}-copies`;
  await world.makeNamespace(copyNamespace);
  for (const name of ["ca", "tls"]) await apply(copyNamespace, name, synced("uid-1", "pg-1"));
  const live = await world.kube.get(SECRETS, { namespace, name: `ca-${id}` });
  assert.match(JSON.stringify(live.metadata.annotations), /marker-data/);

  await using at = await world.inventory();
  const resource = "secrets";
  const labelSelector = { matchLabels: { [id]: "yes" } };
  const named = (...names: string[]) =>
    at.apis.providerObjects({ resource, selector: { names: names.map((n) => `${n}-${id}`) } });
  const all = (objects: ApiObjects | undefined) => [...objects?.values() ?? []];
  const mine = (objects: ApiObjects | undefined) =>
    all(objects).filter(({ metadata }) => metadata.namespace?.startsWith(namespace))
      .map(({ metadata }) => metadata.name.replace(`-${id}`, "")).sort();
  const sources = {
    labelled: await at.apis.providerObjects({ resource, selector: { labelSelector } }),
    one: await named("ca"),
    two: await named("tls", "ca"),
    none: await named("absent", "missing"),
    copies: await at.apis.managedCopies(resource),
  };
  assert.deepEqual(mine(sources.labelled), ["ca", "other", "tls"]);
  assert.deepEqual(mine(sources.one), ["ca"]);
  assert.deepEqual(all(sources.two).length, 2);
  assert.deepEqual(mine(sources.two), ["ca", "tls"]);
  assert.deepEqual(all(sources.none), []);
  assert.deepEqual(mine(sources.copies), ["ca", "tls"]);
  for (const objects of Object.values(sources)) {
    for (const each of all(objects)) {
      assert.deepEqual(Object.keys(each), ["metadata"]);
      assert.doesNotMatch(JSON.stringify(each), /marker|last-applied|managedFields/);
    }
  }

  await world.kube.delete(SECRETS, { namespace, name: `other-${id}` });
  await world.kube.delete(SECRETS, { namespace, name: `ca-${id}` });
  await eventually("the deletions have arrived", () => mine(sources.two).join() === "tls");
  await eventually("the deletions have arrived", () => mine(sources.labelled).join() === "tls");
  assert.equal(await named("tls", "ca"), await named("ca", "tls"));
});

Deno.test("ApiCaches opens one watch for all callers, and closes an idle watch", async () => {
  await using world = await InventoryWorld.start(provider);
  await world.define("a");
  const offer = await world.offer("pg", ["a"]);
  const grant = await world.grant(offer, "ada");
  await world.beat(grant, "uid-1");
  await world.widget("a", "w1", synced("uid-1"));
  await using at = await world.inventory({ idleMs: 4_000, firstSyncMs: 5_000, retryMs: 5_000 });
  assert.equal(at.apis.size, 0);
  assert.deepEqual(await world.watches("widgets"), []);

  const calls = Array.from({ length: 20 }, () => at.inventory.instances(offer));
  const answers = await Promise.all([...calls, at.inventory.clusters()]);
  assert.equal(places(decoded<Instances>(answers[0] as InventoryAnswer)).length, 1);
  assert.equal(at.apis.size, 1);
  const requests = await world.requests(async () => {
    for (let i = 0; i < 100; i++) {
      await at.inventory.instances(offer);
      await at.inventory.clusters();
      await at.inventory.catalog();
    }
  });
  assert.deepEqual(requests.map(({ requestURI }) => requestURI), []);
  assert.equal((await world.watches("widgets")).length, 1);

  await eventually("the idle watch is closed", () => at.apis.size === 0);
  await world.widget("a", "w2", synced("uid-1"));
  const again = decoded<Instances>(await at.inventory.instances(offer));
  assert.equal(places(again).length, 2);
  await eventually("a second watch", async () => (await world.watches("widgets")).length === 2);
});

Deno.test("ApiCaches drops an API that disappears, and finds it again", async () => {
  await using world = await InventoryWorld.start(provider);
  await world.define("a");
  await world.define("b");
  const offer = await world.offer("pg", ["a", "b"]);
  const grant = await world.grant(offer, "ada");
  await world.beat(grant, "uid-1");
  await world.widget("a", "w1", synced("uid-1"));
  await world.widget("b", "w2", synced("uid-1"));
  await using at = await world.inventory({ idleMs: 60_000, firstSyncMs: 5_000, retryMs: 50 });
  const ask = () => at.inventory.instances(offer);
  assert.equal(places(decoded(await ask())).length, 2);

  await world.undefine("a");
  const rest = await answerWhen<Instances>(
    "one row is left",
    ask,
    (all) => all.instances.length === 1,
  );
  assert.deepEqual(places(rest), [`${world.api("b")} ${world.namespace}/w2`]);
  await eventually("the missing API is logged", () => ask().then(() => at.logged.length > 0));
  for (let i = 0; i < 5; i++) await ask();
  assert.equal(at.logged.length, 1);
  assert.match(at.logged[0] ?? "", /left out of the inventory.*widgets\.a\./);
  const { clusters } = decoded<Clusters>(await at.inventory.clusters());
  assert.deepEqual(clusters[0]?.bindings[0]?.apis.map(({ syncedCount }) => syncedCount), [0, 1]);

  await world.define("a");
  await world.widget("a", "w3", synced("uid-1"));
  const back = await answerWhen<Instances>("two rows", ask, (all) => all.instances.length === 2);
  assert.deepEqual(places(back)[0], `${world.api("a")} ${world.namespace}/w3`);
});

Deno.test("Inventory leaves out an API that it cannot list, and logs that once", async () => {
  await using world = await InventoryWorld.start(provider);
  await world.define("a");
  await world.define("forbidden");
  const offer = await world.offer("pg", ["forbidden", "a"]);
  const grant = await world.grant(offer, "ada");
  await world.beat(grant, "uid-1");
  await world.widget("a", "w1", synced("uid-1"));
  await world.widget("forbidden", "w2", synced("uid-1"));
  await using at = await world.inventory({ idleMs: 60_000, firstSyncMs: 60_000, retryMs: 50 });
  const started = performance.now();
  for (let i = 0; i < 3; i++) {
    const answer = decoded<Instances>(await at.inventory.instances(offer));
    assert.deepEqual(places(answer), [`${world.api("a")} ${world.namespace}/w1`]);
    const { clusters } = decoded<Clusters>(await at.inventory.clusters());
    const apis = clusters[0]?.bindings[0]?.apis;
    const known = { name: world.api("a"), syncedCount: 1 };
    assert.deepEqual(apis, [{ name: world.api("forbidden") }, known], "the count is unknown");
  }
  assert.ok(performance.now() - started < 30_000, "a refused list does not delay the answer");
  assert.equal(at.logged.length, 1);
  assert.match(at.logged[0] ?? "", /widgets\.forbidden\..*forbidden/);
});

import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CONFIG_MAPS,
  type LabelSelector,
  type ObjectMeta,
  SECRETS,
} from "../../../common/api/resources.ts";
import type { ApiObjects } from "../../../server/inventory/api_watch.ts";
import { matchesSelector, selectorText } from "../../../common/api/selector.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
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

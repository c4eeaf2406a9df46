import assert from "node:assert/strict";
import {
  CONFIG_MAPS,
  EXPORTS,
  isDeleting,
  isReady,
  type RelatedResource,
  SECRETS,
} from "../../../common/api/resources.ts";
import type { Catalog, Clusters, Instances } from "../../../common/api/wire.ts";
import { boundaryName, FIELD_MANAGERS } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { answerWhen, decoded, places } from "../../support/worlds/inventory_answers.ts";
import { InventoryWorld, synced } from "../../support/worlds/inventory_world.ts";
import { configMap, plainSecret } from "../../support/planes/kube.ts";

const { cli } = FIELD_MANAGERS;

// Started outside the tests: Deno would report it as a leak of the test that starts it.
const provider = await sharedProvider();

Deno.test("Inventory.catalog() lists Ready Exports, and adds a new one", async () => {
  await using world = await InventoryWorld.start(provider);
  const { metadata: { name } } = await world.offer("one", ["a"]);
  await world.offer("hidden", ["a"], {}, false);
  await using at = await world.inventory();
  const first = await at.inventory.catalog();
  const catalog = decoded<Catalog>(first);
  assert.deepEqual(catalog, { exports: [{ name, title: "one", apis: [world.api("a")] }] });
  assert.equal(first.ageSeconds, undefined);
  assert.equal((await at.inventory.catalog()).etag, first.etag);

  await world.offer("two", ["b"]);
  await answerWhen<Catalog>(
    "the second Export is listed",
    () => at.inventory.catalog(),
    ({ exports }) => exports.length === 2,
  );
  assert.notEqual((await at.inventory.catalog()).etag, first.etag);
});

Deno.test("Inventory.catalog() does not list a Ready Export that is being deleted", async () => {
  await using world = await InventoryWorld.start(provider);
  const { kube } = world;
  const staying = (await world.offer("staying", ["a"])).metadata.name;
  const { metadata: { name: going, resourceVersion = "" } } = await world.offer("going", ["a"]);
  const finalizers = (list: readonly string[] | null, version: string) =>
    kube.mergePatch(
      EXPORTS,
      { name: going },
      { metadata: { resourceVersion: version, finalizers: list } },
      cli,
    );
  await finalizers(["example.org/held"], resourceVersion);
  await world.collect("both", [going, staying]);
  await world.collect("alone", [going]);
  await using at = await world.inventory();
  const shown = ({ exports, collections = [] }: Catalog) => [
    exports.map(({ name }) => name),
    collections.map(({ title, exports }) => [title, exports]),
  ];
  assert.deepEqual(shown(decoded<Catalog>(await at.inventory.catalog())), [[going, staying], [
    ["alone", [going]],
    ["both", [going, staying]],
  ]]);

  await kube.delete(EXPORTS, { name: going });
  // The issuer may still write the status of an Export that is being deleted.
  const held = await world.judge(await kube.get(EXPORTS, { name: going }));
  assert.ok(isReady(held) && isDeleting(held), "the Export is Ready and being deleted");
  await answerWhen<Catalog>(
    "the Export is no longer listed",
    () => at.inventory.catalog(),
    ({ exports }) => exports.length === 1,
  );
  assert.deepEqual(shown(decoded<Catalog>(await at.inventory.catalog())), [[staying], [
    ["both", [staying]],
  ]]);
  await finalizers(null, held.metadata.resourceVersion ?? "");
});

Deno.test("Inventory shows the clusters and instances that konnectors wrote", async (t) => {
  await using world = await InventoryWorld.start(provider);
  const { namespace, id } = world;
  await world.define("a");
  const rules: RelatedResource[] = [
    { resource: "secrets", direction: "FromProvider", selector: { names: [`ca-${id}`] } },
    {
      resource: "configmaps",
      direction: "FromProvider",
      selector: { labelSelector: { matchLabels: { [id]: "shared" } } },
    },
    {
      resource: "secrets",
      direction: "FromConsumer",
      selector: { labelSelector: { matchLabels: { [id]: "input" } }, names: ["in-1", "in-2"] },
    },
    { resource: "configmaps", direction: "FromConsumer" },
  ];
  const offer = await world.offer("pg", ["a"], { defaults: { relatedResources: rules } });
  const [ada, bob] = [await world.grant(offer, "ada"), await world.grant(offer, "bob")];
  const [uid1, uid2] = [`1-${id}`, `2-${id}`];
  await world.beat(ada, uid1);
  await world.beat(ada, uid2, {
    renewTime: new Date(Date.now() - 500_000).toISOString().replace("Z", "000Z"),
  });
  await world.widget("a", "w1", synced(uid1));
  await world.widget("a", "w2", synced(uid1));
  await world.widget("a", "w3", synced(uid2));
  await world.widget("a", "unmanaged", {});

  const { kube } = world;
  await kube.create(SECRETS, plainSecret(namespace, `ca-${id}`), cli);
  await kube.create(SECRETS, plainSecret(namespace, `other-${id}`), cli);
  await kube.create(CONFIG_MAPS, configMap(namespace, "cm", {}, { [id]: "shared" }), cli);
  const grantName = ada.metadata.name;
  for (const [name, label] of [["in-1", "input"], ["in-2", "other"], ["in-3", "input"]]) {
    const metadata = synced(uid1, grantName);
    const labels = { ...metadata.labels, [id]: label };
    await kube.create(SECRETS, plainSecret(namespace, name ?? "", { ...metadata, labels }), cli);
  }

  await using at = await world.inventory();
  await t.step("clusters() returns one cluster per UID, and the pending Grants", async () => {
    const { clusters, pending } = decoded<Clusters>(await at.inventory.clusters());
    const row = {
      grant: grantName,
      export: offer.metadata.name,
      identity: "ada@example.org",
      subject: world.subject("ada"),
      boundaryNamespace: boundaryName(world.subject("ada")),
    };
    const known = clusters.map(({ lastHeartbeat: _, bindings, ...cluster }) => ({
      ...cluster,
      bindings: bindings.map(({ lastHeartbeat: _, ...binding }) => binding),
    }));
    const apis = (syncedCount: number) => [{ name: world.api("a"), syncedCount }];
    assert.deepEqual(known, [
      { uid: uid1, live: true, bindings: [{ ...row, live: true, apis: apis(2) }] },
      { uid: uid2, live: false, bindings: [{ ...row, live: false, apis: apis(1) }] },
    ]);
    assert.deepEqual(pending, [{
      grant: bob.metadata.name,
      export: offer.metadata.name,
      identity: "bob@example.org",
      createdAt: bob.metadata.creationTimestamp,
    }]);
  });

  await t.step("instances() returns objects and related objects with their owners", async () => {
    const answer = decoded<Instances>(await at.inventory.instances(offer));
    assert.equal(answer.export, offer.metadata.name);
    assert.deepEqual(
      places(answer),
      [
        ...["w1", "w2", "w3"].map((name) => `${world.api("a")} ${namespace}/${name}`),
        `configmaps ${namespace}/cm`,
        `secrets ${namespace}/ca-${id}`,
        `secrets ${namespace}/in-1`,
      ],
    );
    const shown = answer.instances.map(({ clusterUID, identity, related, direction }) => [
      clusterUID,
      identity,
      related,
      direction,
    ]);
    assert.deepEqual(shown, [
      [uid1, "ada@example.org", undefined, undefined],
      [uid1, "ada@example.org", undefined, undefined],
      [uid2, "ada@example.org", undefined, undefined],
      [undefined, undefined, true, "FromProvider"],
      [undefined, undefined, true, "FromProvider"],
      [uid1, "ada@example.org", true, "FromConsumer"],
    ]);
    assert.doesNotMatch(JSON.stringify(answer), /marker/);
  });

  await t.step(
    "a UID of two identities belongs to neither, except for the objects of a Grant",
    async () => {
      await world.beat(bob, uid1);
      const answer = await answerWhen<Instances>(
        "the first cluster has no owner",
        () => at.inventory.instances(offer),
        ({ instances }) => instances[0]?.identity === undefined,
      );
      assert.deepEqual(
        answer.instances.slice(0, 3).map(({ clusterUID, identity }) => [clusterUID, identity]),
        [[uid1, undefined], [uid1, undefined], [uid2, "ada@example.org"]],
      );
      assert.deepEqual(answer.instances.at(-1)?.identity, "ada@example.org", "it names its Grant");
      const { clusters, pending } = decoded<Clusters>(await at.inventory.clusters());
      assert.equal(clusters.find(({ uid }) => uid === uid1)?.bindings.length, 2);
      assert.equal(pending, undefined);
    },
  );

  await t.step("clusters() counts a new synced object", async () => {
    await world.widget("a", "w4", synced(uid2));
    const count = ({ clusters }: Clusters) =>
      clusters.find(({ uid }) => uid === uid2)?.bindings[0]?.apis[0]?.syncedCount;
    await answerWhen<Clusters>(
      "2 objects",
      () => at.inventory.clusters(),
      (all) => count(all) === 2,
    );
  });
  assert.deepEqual(at.logged, []);
});

Deno.test("Inventory shows an object with the Grant and the Export that it names", async (t) => {
  await using world = await InventoryWorld.start(provider);
  const { kube, namespace, id } = world;
  await world.define("a");
  const selector = { labelSelector: { matchLabels: { [id]: "shared" } } };
  const relatedResources: RelatedResource[] = (["FromConsumer", "FromProvider"] as const)
    .map((direction) => ({ resource: "configmaps", direction, selector }));
  const defaults = { relatedResources };
  const [pg, mq] = [
    await world.offer("pg", ["a"], { defaults }),
    await world.offer("mq", ["a"], { defaults }),
  ];
  const [pgGrant, mqGrant] = [await world.grant(pg, "ada"), await world.grant(mq, "ada")];
  const uid = `1-${id}`;
  const copy = (name: string, grant: string | undefined, labels: Record<string, string>) => {
    const { labels: ours, annotations = {} } = synced(uid, grant);
    const { metadata, ...made } = configMap(namespace, name, {}, { ...ours, ...labels });
    return kube.create(CONFIG_MAPS, { ...made, metadata: { ...metadata, annotations } }, cli);
  };
  for (const [name, grant] of [["pg", pgGrant], ["mq", mqGrant]] as const) {
    await world.beat(grant, uid);
    await world.widget("a", `w-${name}`, synced(uid, grant.metadata.name));
    await copy(`from-${name}`, grant.metadata.name, { [id]: "shared" });
  }
  await world.widget("a", "w-plain", synced(uid));
  await copy("plain", undefined, { [id]: "shared" });
  await copy("bare", undefined, {});
  await kube.create(CONFIG_MAPS, configMap(namespace, "own", {}, { [id]: "shared" }), cli);

  await using at = await world.inventory();
  for (const [name, offer] of [["pg", pg], ["mq", mq]] as const) {
    await t.step(`instances() of ${name}`, async () => {
      const answer = decoded<Instances>(await at.inventory.instances(offer));
      const shown = answer.instances.map(({ name, direction }) => [name, direction]);
      assert.deepEqual(shown, [
        [`w-${name}`, undefined],
        ["w-plain", undefined],
        ["bare", "FromConsumer"],
        [`from-${name}`, "FromConsumer"],
        ["own", "FromProvider"],
        ["plain", "FromConsumer"],
      ]);
    });
  }
  await t.step("clusters() counts the objects of each Grant", async () => {
    const { clusters } = decoded<Clusters>(await at.inventory.clusters());
    const counts = clusters[0]?.bindings.map(({ apis }) => apis[0]?.syncedCount);
    assert.deepEqual(counts, [2, 2], "its own one, and the one that names no Grant");
  });
  assert.deepEqual(at.logged, []);
});

Deno.test("Inventory.clusters() shows a silent cluster as not live without any event", async () => {
  await using world = await InventoryWorld.start(provider);
  const offer = await world.offer("pg", ["a"], { apis: [{ name: world.api("a") }] });
  const grant = await world.grant(offer, "ada");
  await using at = await world.inventory();
  await world.beat(grant, `1-${world.id}`, { leaseDurationSeconds: 3 });
  const isLive = (live: boolean) => ({ clusters }: Clusters) => clusters[0]?.live === live;
  const ask = () => at.inventory.clusters();
  await answerWhen<Clusters>("the cluster is live", ask, isLive(true));
  const { etag } = await ask();
  await answerWhen<Clusters>("the cluster is not live", ask, isLive(false));
  assert.notEqual((await ask()).etag, etag);
  await world.beat(grant, `1-${world.id}`);
  await answerWhen<Clusters>("the cluster is live again", ask, isLive(true));
});

import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CONFIG_MAPS,
  EXPORTS,
  isDeleting,
  isReady,
  LEASES,
  type RelatedResource,
  SECRETS,
} from "../../../common/api/resources.ts";
import type { Catalog, Clusters, Instances } from "../../../common/api/wire.ts";
import type { InventoryAnswer } from "../../../server/inventory/inventory.ts";
import { ANNOTATIONS, boundaryName, FIELD_MANAGERS } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { InventoryWorld, synced } from "../../support/worlds/inventory_world.ts";
import { configMap, plainSecret } from "../../support/planes/kube.ts";
import {
  HOSTILE_MESSAGES,
  HOSTILE_TEXTS,
  REFUSED_PROBLEMS,
  REFUSED_SUMMARIES,
} from "../../testdata/hostile_reports.ts";

const { cli } = FIELD_MANAGERS;

// Started outside the tests: Deno would report it as a leak of the test that starts it.
const provider = await sharedProvider();

const decoded = <T>({ body }: InventoryAnswer): T => JSON.parse(new TextDecoder().decode(body));

const places = ({ instances }: Instances): string[] =>
  instances.map(({ api, namespace = "", name }) => `${api} ${namespace}/${name}`);

/** Retries until the answer is wanted, and returns it. */
const answerWhen = <T>(
  what: string,
  ask: () => Promise<InventoryAnswer>,
  isWanted: (answer: T) => boolean,
): Promise<T> =>
  eventually(what, async () => {
    const answer = decoded<T>(await ask());
    return isWanted(answer) && answer;
  }) as Promise<T>;

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

Deno.test("Inventory shows what konnectors tell of their own clusters", async (t) => {
  await using world = await InventoryWorld.start(provider);
  await world.define("a");
  const [pg, mq] = [await world.offer("pg", ["a"]), await world.offer("mq", ["b"])];
  const [ada, eve] = [await world.grant(pg, "ada"), await world.grant(mq, "eve")];
  const [uid, other] = [`1-${world.id}`, `2-${world.id}`];
  const tell = async (grant: typeof ada, uid: string, annotations: Record<string, string>) => {
    const { metadata: { name, namespace } } = await world.beat(grant, uid);
    const key = { name, ...(namespace ? { namespace } : {}) };
    await world.kube.patchFields(LEASES, key, { metadata: { annotations } }, cli);
  };
  const problem = {
    api: world.api("a"),
    namespace: "team",
    name: "big",
    reason: "Rejected",
    message: "size is too large",
  };
  const sync = { objects: 4, conflicts: 0, rejected: 1 };
  const summary = (problems: unknown[]) => JSON.stringify({ ...sync, problems });
  const { clusterName, konnectorVersion, syncSummary } = ANNOTATIONS;
  await tell(ada, uid, {
    [clusterName]: "prod-eu",
    [konnectorVersion]: "1.2.3",
    [syncSummary]: summary([problem]),
  });
  await tell(eve, other, { [clusterName]: "lab", [syncSummary]: summary([problem]) });
  await world.widget("a", "w1", synced(uid, ada.metadata.name));
  await using at = await world.inventory();
  const clusters = async () => decoded<Clusters>(await at.inventory.clusters()).clusters;
  const instances = async (offer: typeof pg) =>
    decoded<Instances>(await at.inventory.instances(offer));

  await t.step("clusters() shows name, version and counts", async () => {
    const shown = (await clusters()).map(({ uid, name, bindings }) => [
      uid,
      name,
      ...bindings.map((each) => [each.clusterName, each.konnectorVersion, each.sync]),
    ]);
    assert.deepEqual(shown, [
      [uid, "prod-eu", ["prod-eu", "1.2.3", sync]],
      [other, "lab", ["lab", undefined, sync]],
    ]);
  });

  await t.step("instances() shows problems of the Export's own APIs, with names", async () => {
    const answer = await instances(pg);
    assert.deepEqual(answer.instances.map((row) => [row.name, row.clusterName]), [
      ["w1", "prod-eu"],
    ]);
    assert.deepEqual(answer.problems, [
      { ...problem, clusterUID: uid, clusterName: "prod-eu", identity: "ada@example.org" },
    ]);
    assert.equal((await instances(mq)).problems, undefined, "Eve's Grant has no such API");
  });

  await t.step("a tenant cannot rename the cluster of another", async () => {
    await tell(eve, uid, { [clusterName]: "not-prod" });
    const shared = await eventually("both claim the cluster", async () => {
      const found = (await clusters()).find((each) => each.uid === uid);
      return found?.bindings.length === 2 && found;
    });
    assert.equal(shared.name, undefined);
    assert.equal((await instances(pg)).instances[0]?.clusterName, "prod-eu");
  });

  await t.step("hostile values are left out or made safe", async () => {
    const shownOf = async () => {
      const [found] = (await clusters()).filter((each) => each.uid === other);
      return found?.bindings[0] ?? assert.fail("the cluster is gone");
    };
    // An API server stores at most 256 KiB of annotations.
    const isStorable = (text: string) => text.length < 200_000;
    const names = HOSTILE_TEXTS.filter(isStorable);
    for (const [i, text] of REFUSED_SUMMARIES.filter(isStorable).entries()) {
      const mark = `1.0.${i}`;
      await tell(eve, other, {
        [clusterName]: names[i] ?? "<b>",
        [syncSummary]: text,
        [konnectorVersion]: mark,
      });
      const shown = await eventually(`version ${mark}`, async () => {
        const shown = await shownOf();
        return shown.konnectorVersion === mark && shown;
      });
      assert.deepEqual([shown.clusterName, shown.sync], [undefined, undefined], text.slice(0, 60));
    }
    for (const [message, shown] of HOSTILE_MESSAGES) {
      const problems = [...REFUSED_PROBLEMS.slice(0, 10), { ...problem, message }];
      await tell(ada, uid, { [syncSummary]: summary(problems) });
      await eventually(`the message ${JSON.stringify(shown)}`, async () => {
        const { problems = [] } = await instances(pg);
        assert.equal(problems.length, 1);
        return problems[0]?.message === shown;
      });
    }
  });
  assert.deepEqual(at.logged.filter((line) => !line.includes(world.api("b"))), []);
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
  await world.beat(grant, `1-${world.id}`, { leaseDurationSeconds: 1 });
  const isLive = (live: boolean) => ({ clusters }: Clusters) => clusters[0]?.live === live;
  const ask = () => at.inventory.clusters();
  await answerWhen<Clusters>("the cluster is live", ask, isLive(true));
  const { etag } = await ask();
  await answerWhen<Clusters>("the cluster is not live", ask, isLive(false));
  assert.notEqual((await ask()).etag, etag);
  await world.beat(grant, `1-${world.id}`);
  await answerWhen<Clusters>("the cluster is live again", ask, isLive(true));
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

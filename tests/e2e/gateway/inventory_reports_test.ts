import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { LEASES } from "../../../common/api/resources.ts";
import type { Clusters, Instances } from "../../../common/api/wire.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../../common/api/names.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { decoded } from "../../support/worlds/inventory_answers.ts";
import { InventoryWorld, synced } from "../../support/worlds/inventory_world.ts";
import {
  HOSTILE_MESSAGES,
  HOSTILE_TEXTS,
  REFUSED_PROBLEMS,
  REFUSED_SUMMARIES,
} from "../../testdata/hostile_reports.ts";

const { cli } = FIELD_MANAGERS;

// Started outside the tests: Deno would report it as a leak of the test that starts it.
const provider = await sharedProvider();

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

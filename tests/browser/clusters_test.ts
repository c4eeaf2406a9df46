import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import type { Clusters, Instances } from "../../common/api/wire.ts";
import { grantName } from "../../common/api/names.ts";
import { picture, seriousFindings } from "../support/peers/browser.ts";
import { customType } from "../support/planes/issuer_samples.ts";
import { TestKonnector } from "../support/worlds/test_konnector.ts";
import { once, subjectOf, UiWorld } from "../support/worlds/ui_world.ts";
import { SAMPLE_GROUPS, SAMPLE_OFFERS } from "../testdata/sample_catalog.ts";

const LIVE = "0a57a3ca-1111-4e6c-9d0e-6b1f0b0c0a01";
const SECOND = "0b57a3ca-2222-4e6c-9d0e-6b1f0b0c0a02";
const SILENT = "0c57a3ca-3333-4e6c-9d0e-6b1f0b0c0a03";

let world: UiWorld;
const stack = new DisposableStack();

Deno.test.beforeEach(once(async () => {
  world = await UiWorld.start();
  await world.offer(SAMPLE_OFFERS, SAMPLE_GROUPS);
  await world.provider.makeNamespace("team");
  const silent = stack.use(await world.connect("bea", "mysql", SILENT));
  await silent.beat(1);
  const bundle = await world.bundle("ada", "postgresql");
  for (const uid of [LIVE, SECOND]) {
    const konnector = stack.use(await TestKonnector.start(bundle, uid));
    await konnector.beat(3_600);
    if (uid !== LIVE) continue;
    for (const name of ["orders", "billing"]) {
      await konnector.sync(customType("databases.pg.example.org"), "team", name);
    }
  }
  await world.bind("ada", "widgets");
  await world.bind("cid", "widgets");
  const session = await world.session("ada");
  await eventually("the clusters are live and silent as planned", async () => {
    const { clusters, pending } = await world.gateway.read<Clusters>(session, "/api/clusters");
    const synced = clusters.flatMap(({ bindings }) => bindings.flatMap(({ apis }) => apis))
      .some(({ syncedCount }) => syncedCount === 2);
    return synced && pending?.length === 2 && clusters.some(({ live }) => !live);
  });
}));
Deno.test.afterAll(async () => {
  stack.dispose();
  await world?.[Symbol.asyncDispose]();
});

const cluster = (page: Page, uid: string) => page.getByRole("article", { name: `Cluster ${uid}` });

/** Returns the UIDs of the visible clusters, in order. */
const uids = (page: Page) => page.locator(".cluster-uid").allTextContents();

async function shows(page: Page, expected: readonly string[]): Promise<void> {
  await eventually(`the clusters ${expected} are shown`, async () => {
    assert.deepEqual(await uids(page), expected);
    return true;
  });
}

Deno.test("the clusters view shows states, bindings and synced objects", async () => {
  await world.visit({ at: "#/clusters" }, async ({ page }) => {
    await page.getByText("2 live, 1 silent, 2 never connected").waitFor();
    assert.deepEqual(await uids(page), [LIVE, SECOND, SILENT]);
    const live = cluster(page, LIVE);
    const row = live.getByRole("row").filter({ hasText: "PostgreSQL" });
    const text = await row.innerText();
    for (const part of ["ada@example.org", "2 databases.pg.example.org", "0 backups.pg"]) {
      assert.ok(text.includes(part), text);
    }
    await cluster(page, SILENT).getByText("Silent", { exact: true }).waitFor();
    await row.getByRole("button", { name: "PostgreSQL" }).click();
    await page.getByRole("dialog", { name: "PostgreSQL" }).getByText("team/orders").waitFor();
    await page.keyboard.press("Escape");
    await eventually("the address changes", () => page.url().endsWith("#/clusters"));
  });
});

Deno.test("the clusters view shows unknown counts and truncated heartbeats", async () => {
  await world.visit({ at: undefined }, async ({ page }) => {
    await page.route("**/api/clusters", async (route) => {
      const answer = await route.fetch();
      const given: Clusters = await answer.json();
      const clusters = given.clusters.map((each) => ({
        ...each,
        bindings: each.bindings.map((binding) => ({
          ...binding,
          apis: binding.apis.map((api, at) => at === 0 ? { name: api.name } : api),
        })),
      }));
      const truncated = [{ boundaryNamespace: "xbind-full", leases: 100_000 }];
      await route.fulfill({ json: { ...given, clusters, truncated } });
    });
    await page.goto("/#/clusters");
    const row = cluster(page, LIVE).getByRole("row").filter({ hasText: "PostgreSQL" });
    await row.getByText("Unknown: the provider cannot list that API now.").waitFor();
    assert.match(await row.innerText(), /unknown databases\.pg\.example\.org/);
    await page.getByText("Namespace xbind-full holds 100,000 heartbeat Leases.").waitFor();
    assert.deepEqual(await seriousFindings(page), []);
  });
});

Deno.test("the clusters view shows names, versions and problems that konnectors tell", async () => {
  await world.visit({ at: undefined }, async ({ page }) => {
    await page.route("**/api/clusters", async (route) => {
      const given: Clusters = await (await route.fetch()).json();
      const told = {
        clusterName: "prod-eu",
        konnectorVersion: "1.2.3",
        sync: { objects: 4, conflicts: 1, rejected: 1 },
      };
      const clusters = given.clusters.map((each) =>
        each.uid !== LIVE ? each : {
          ...each,
          name: "prod-eu",
          bindings: each.bindings.map((binding) => ({ ...binding, ...told })),
        }
      );
      await route.fulfill({ json: { ...given, clusters } });
    });
    await page.route("**/instances", async (route) => {
      const given: Instances = await (await route.fetch()).json();
      const problems = [{
        api: "databases.pg.example.org",
        namespace: "team",
        name: "archive",
        reason: "Rejected",
        message: "it is too large",
        clusterUID: LIVE,
        clusterName: "prod-eu",
        identity: "ada@example.org",
      }];
      const instances = given.instances.map((row) => ({ ...row, clusterName: "prod-eu" }));
      const [first] = problems;
      const namesake = { ...first, name: "twin", clusterUID: SECOND };
      const json = { ...given, instances, problems: [...problems, namesake], moreProblems: 5 };
      await route.fulfill({ json });
    });
    await page.goto("/#/clusters");
    const card = cluster(page, `prod-eu, ${LIVE}`);
    await card.getByRole("heading", { name: "prod-eu" }).waitFor();
    await card.getByText("konnector 1.2.3").waitFor();
    assert.match(await cluster(page, SECOND).locator(".notice").innerText(), /here and in prod-eu/);
    await page.getByRole("searchbox").fill("prod-eu");
    await shows(page, [LIVE]);
    await card.getByText("4 on the cluster").first().waitFor();
    await picture(page, "named_cluster");
    await card.getByRole("button", { name: "1 in conflict, 1 rejected" }).click();
    const dialog = page.getByRole("dialog", { name: "PostgreSQL" });
    const problem = dialog.getByRole("table", { name: "Objects that are not synced" })
      .getByRole("row").filter({ hasText: "team/archive" });
    const text = await problem.innerText();
    for (const part of ["Rejected", "it is too large", "prod-eu", "ada@example.org"]) {
      assert.ok(text.includes(part), text);
    }
    await dialog.getByText("and 5 more that are not synced").waitFor();
    const twin = dialog.getByRole("row").filter({ hasText: "team/twin" });
    await twin.getByText(`prod-eu (${SECOND.slice(0, 8)})`).waitFor();
    const instance = dialog.getByRole("row").filter({ hasText: "team/orders" });
    assert.equal(await instance.getByText("prod-eu").getAttribute("title"), `Cluster ${LIVE}`);
    await instance.getByText(`prod-eu (${LIVE.slice(0, 8)})`).waitFor();
    await picture(page, "problems");
    assert.deepEqual(await seriousFindings(page), []);
  });
});

Deno.test("the clusters view warns in both clusters that share one Grant", async () => {
  await world.visit({ at: "#/clusters" }, async ({ page }) => {
    for (const [uid, other] of [[LIVE, SECOND], [SECOND, LIVE]] as const) {
      const text = await cluster(page, uid).locator(".notice").innerText();
      assert.match(text, /2 clusters use the same Grant/);
      assert.ok(text.includes(other));
    }
    await cluster(page, SILENT).waitFor();
    assert.equal(await cluster(page, SILENT).locator(".notice").count(), 0);
  });
});

Deno.test("the clusters view can be filtered by state and by search", async () => {
  await world.visit({ at: "#/clusters" }, async ({ page }) => {
    await page.getByRole("button", { name: "Silent 1" }).click();
    await shows(page, [SILENT]);
    await page.getByRole("button", { name: "Live 2" }).click();
    await shows(page, [LIVE, SECOND]);
    await page.getByRole("searchbox").fill("0b57");
    await shows(page, [SECOND]);
    await eventually("the address changes", () => page.url().endsWith("?q=0b57&state=live"));
    await page.reload();
    await shows(page, [SECOND]);
    await page.getByRole("searchbox").fill("nobody");
    await page.getByText("No cluster matches").waitFor();
    await page.getByRole("button", { name: "Clear search and filter" }).click();
    await shows(page, [LIVE, SECOND, SILENT]);
    await page.getByRole("button", { name: "Never connected 2" }).click();
    await shows(page, []);
    await page.getByRole("heading", { name: "Bound, never connected 2" }).waitFor();
  });
});

Deno.test("the clusters view lets only the owner bind an unused Grant again", async () => {
  await world.visit({ at: "#/clusters" }, async ({ page }) => {
    const pending = page.getByRole("region", { name: "Bound, never connected" });
    const rows = pending.getByRole("row").filter({ hasText: "Widgets" });
    await eventually("both Grants are listed", async () => await rows.count() === 2);
    const mine = rows.filter({ hasText: grantName("widgets", subjectOf("ada")) });
    const other = rows.filter({ hasText: grantName("widgets", subjectOf("cid")) });
    assert.equal(await other.getByRole("button").count(), 0);
    await mine.getByRole("button", { name: "Bind again: Widgets" }).click();
    const dialog = page.getByRole("dialog", { name: "Bind Widgets" });
    await dialog.getByRole("button", { name: "Bind", exact: true }).click();
    await dialog.getByRole("heading", { name: "Your credential is ready" }).waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByRole("heading", { name: "Clusters", level: 1 }).waitFor();
  });
});

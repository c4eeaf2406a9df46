import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { ICON_HOST, picture } from "../support/peers/browser.ts";
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES } from "../../common/api/resources.ts";
import { customType } from "../support/planes/issuer_samples.ts";
import { once, subjectOf, UiWorld } from "../support/worlds/ui_world.ts";
import { SAMPLE_GROUPS, SAMPLE_OFFERS } from "../testdata/sample_catalog.ts";

let world: UiWorld;
Deno.test.beforeEach(once(async () => {
  world = await UiWorld.start();
  await world.offer(SAMPLE_OFFERS, SAMPLE_GROUPS);
}));
Deno.test.afterAll(() => world?.[Symbol.asyncDispose]());

const card = (page: Page, title: string) =>
  page.getByRole("article").filter({
    has: page.getByRole("heading", { name: title, exact: true }),
  });

/** Returns the titles of the visible cards, in order. */
const titles = (page: Page) => page.locator(".card-title").allTextContents();

/** Waits until exactly these cards are visible. */
async function shows(page: Page, expected: readonly string[]): Promise<void> {
  await eventually(`the catalog shows ${expected}`, async () => {
    assert.deepEqual(await titles(page), expected);
    return true;
  });
}

Deno.test("the catalog has a section for each Collection and one for other services", async () => {
  await world.visit({}, async ({ page }) => {
    await page.getByText("7 services").waitFor();
    assert.deepEqual(await page.locator("h2").allTextContents(), [
      "Data 3",
      "Messaging and trust 2",
      "Other services 2",
    ]);
    await page.getByText("Where state lives.").waitFor();
    assert.deepEqual(await titles(page), [
      "PostgreSQL",
      "MySQL",
      "Object storage",
      "Message queues",
      "Certificates",
      "DNS records",
      "Widgets",
    ]);
    await page.getByLabel("Collection").selectOption("Messaging and trust");
    await shows(page, ["Message queues", "Certificates"]);
    await page.getByText("2 of 7 services").waitFor();
    await eventually("the address changes", () => page.url().endsWith("?collection=messaging"));
  });
});

Deno.test("a card shows a service's description, APIs, docs and related resources", async () => {
  await world.visit({}, async ({ page, requests }) => {
    const postgres = card(page, "PostgreSQL");
    await postgres.getByText("Relational databases").waitFor();
    assert.deepEqual(
      await postgres.getByRole("list", { name: "APIs" }).innerText(),
      [
        "databases.pg.example.org",
        "backups.pg.example.org",
        "users.pg.example.org",
      ].join("\n"),
    );
    await postgres.getByText(
      /^To your cluster: Secrets with labels pg.example.org\/connection=true$/,
    ).waitFor();
    const docs = postgres.getByRole("link", { name: "Docs of PostgreSQL" });
    assert.equal(await docs.getAttribute("href"), "https://docs.example.org/postgresql");
    assert.equal(await docs.getAttribute("rel"), "noopener noreferrer");
    const storage = card(page, "Object storage");
    await storage.getByText("+1 more").waitFor();
    await storage.getByText(/^From your cluster: ConfigMaps named lifecycle$/).waitFor();
    // A broken or missing picture is replaced by a letter.
    assert.equal(await postgres.locator("img").count(), 1);
    await card(page, "MySQL").getByText("M", { exact: true }).waitFor();
    assert.equal(await storage.locator(".service-letter").innerText(), "O");
    const icons = requests.filter((request) => request.includes(ICON_HOST));
    assert.deepEqual(icons.sort(), [
      `GET https://${ICON_HOST}/broken.svg`,
      `GET https://${ICON_HOST}/postgresql.svg`,
      `GET https://${ICON_HOST}/queues.svg`,
    ]);
  });
});

Deno.test("the search covers names, titles, descriptions, APIs and Collections", async (t) => {
  const found: [search: string, titles: string[]][] = [
    ["postgresql", ["PostgreSQL"]],
    ["QUEUES", ["Message queues"]],
    ["point-in-time", ["PostgreSQL"]],
    ["bucketpolicies", ["Object storage"]],
    ["messaging", ["Message queues", "Certificates"]],
    ["records example.org", ["DNS records"]],
    ["sql data", ["PostgreSQL", "MySQL"]],
  ];
  await world.visit({}, async ({ page }) => {
    for (const [search, expected] of found) {
      await t.step(search, async () => {
        await page.getByRole("searchbox").fill(search);
        await shows(page, expected);
      });
    }
    await page.getByRole("searchbox").fill("no such thing");
    await page.getByText("No service matches").waitFor();
    await page.getByText("0 of 7 services").waitFor();
    await page.getByRole("button", { name: "Clear search and filters" }).click();
    await page.getByText("7 services", { exact: true }).waitFor();
    assert.equal(await page.getByRole("searchbox").inputValue(), "");
  });
});

Deno.test("view, search and filters survive a reload and follow the Back button", async () => {
  await world.visit({}, async ({ page }) => {
    await page.getByRole("searchbox").fill("sql");
    await shows(page, ["PostgreSQL", "MySQL"]);
    await page.getByRole("link", { name: "MySQL", exact: true }).click();
    await page.getByRole("dialog", { name: "MySQL" }).waitFor();
    await page.reload();
    await page.getByRole("dialog", { name: "MySQL" }).getByText("No objects yet").waitFor();
    assert.equal(await page.getByRole("searchbox", { includeHidden: true }).inputValue(), "sql");
    await page.goBack();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await shows(page, ["PostgreSQL", "MySQL"]);
    await page.getByRole("link", { name: "Clusters" }).click();
    await page.getByRole("heading", { name: "Clusters", level: 1 }).waitFor();
    await page.getByRole("button", { name: "Silent" }).click();
    await eventually("the address changes", () => page.url().endsWith("#/clusters?state=silent"));
    await page.goBack();
    await page.getByRole("heading", { name: "Catalog", level: 1 }).waitFor();
    await shows(page, ["PostgreSQL", "MySQL"]);
    await page.goForward();
    await page.getByRole("heading", { name: "Clusters", level: 1 }).waitFor();
    assert.equal(
      await page.getByRole("button", { name: "Silent" }).getAttribute("aria-pressed"),
      "true",
    );
  });
});

Deno.test("a card has a badge only if the user has bound the service", async () => {
  await world.bind("mallory", "mysql");
  using konnector = await world.connect("bea", "postgresql", "cluster-of-bea");
  await konnector.beat();
  await world.bind("bea", "widgets");
  await world.visit({ who: "bea" }, async ({ page }) => {
    await card(page, "PostgreSQL").getByTitle("Bound, live").waitFor();
    await card(page, "Widgets").getByTitle("Bound, never connected").waitFor();
    assert.equal(await page.locator(".badge").count(), 2);
    await page.getByRole("button", { name: "Bound by me" }).click();
    await shows(page, ["PostgreSQL", "Widgets"]);
  });
  await world.visit({ who: "cid", at: "#/catalog?bound=1" }, async ({ page }) => {
    await page.getByText("You have not bound anything yet").waitFor();
    await page.getByRole("button", { name: "Show all services" }).click();
    await page.getByText("7 services", { exact: true }).waitFor();
  });
});

Deno.test("the details of a service list its instances", async () => {
  using konnector = await world.connect("dan", "message-queues", "cluster-of-dan");
  await konnector.beat();
  await world.provider.makeNamespace("team");
  await konnector.sync(customType("queues.messaging.example.org"), "team", "orders");
  await world.visit({ who: "dan", at: "#/catalog?export=message-queues" }, async ({ page }) => {
    const details = page.getByRole("dialog", { name: "Message queues" });
    const row = details.getByRole("row").filter({ hasText: "team/orders" });
    await eventually("the instance is listed", async () => {
      if (await row.count() > 0) return true;
      await page.reload();
      await details.getByText(/team\/orders|No objects yet/).waitFor();
    });
    const text = await row.innerText();
    for (const part of ["queues.messaging.example.org", "dan@example.org", "cluster-of-dan"]) {
      assert.ok(text.includes(part), text);
    }
    await details.getByText("Messaging and trust").waitFor();
  });
});

Deno.test("the page refreshes every 15 seconds, but only while it is visible", async () => {
  await world.visit({ at: undefined }, async ({ page, requests }) => {
    await page.clock.install();
    await page.goto("/");
    await page.getByText("7 services").waitFor();
    const reads = () => requests.filter((request) => request.endsWith("/api/catalog")).length;
    const pass = (seconds: number) => page.clock.runFor(seconds * 1_000);
    const show = (state: "hidden" | "visible") =>
      page.evaluate(`Object.defineProperty(document, "visibilityState",
        { configurable: true, get: () => "${state}" });
        document.dispatchEvent(new Event("visibilitychange"));`);
    assert.equal(reads(), 1);
    await pass(10);
    assert.equal(reads(), 1);
    await pass(6);
    await eventually("the page refreshes", () => reads() === 2);
    await show("hidden");
    await pass(120);
    assert.equal(reads(), 2);
    await world.offer([{ name: "novelty", title: "Novelty", apis: ["widgets.example.org"] }]);
    await show("visible");
    await card(page, "Novelty").waitFor();
    assert.equal(reads(), 3);
  });
});

Deno.test("a service that the user may not bind has a lock, a reason and no button", async () => {
  const exports = { apiGroups: ["catalog.xbind.io"], resources: ["exports"] };
  const apiGroup = "rbac.authorization.k8s.io";
  const metadata = { name: "ada" };
  await world.provider.create(CLUSTER_ROLES, {
    metadata,
    rules: [
      { ...exports, verbs: ["get"] },
      { ...exports, verbs: ["bind"], resourceNames: ["widgets"] },
    ],
  });
  await world.provider.create(CLUSTER_ROLE_BINDINGS, {
    metadata,
    roleRef: { apiGroup, kind: "ClusterRole", name: "ada" },
    subjects: [{ apiGroup, kind: "User", name: `xbind:${subjectOf("ada")}` }],
  });
  await using gateway = await world.anotherGateway(["--authorization=Kubernetes"]);
  await world.visit({ gateway }, async ({ page }) => {
    await card(page, "Widgets").getByRole("button", { name: "Bind Widgets" }).waitFor();
    const locked = card(page, "PostgreSQL");
    const user = `xbind:${subjectOf("ada")}`;
    const reason = "You may not bind this. Ask its provider for the verb bind on " +
      "exports.catalog.xbind.io/postgresql";
    await locked.getByText(`${reason}.`).waitFor();
    const docs = locked.getByRole("link", { name: "See its docs: PostgreSQL" });
    assert.equal(await docs.getAttribute("href"), "https://docs.example.org/postgresql");
    assert.equal(await docs.textContent(), "See its docs");
    await picture(page, "locked");
    assert.equal(await locked.getByRole("button").count(), 0);
    await locked.getByRole("link", { name: "PostgreSQL", exact: true }).click();
    const details = page.getByRole("dialog");
    await details.getByText(`${reason} for ${user}.`).waitFor();
    assert.equal(
      await details.getByRole("link", { name: "Docs" }).getAttribute("href"),
      "https://docs.example.org/postgresql",
    );
    await picture(page, "locked_details");
    assert.equal(await details.getByRole("button", { name: "Bind" }).count(), 0);
  });
  await world.visit({ gateway, at: "#/catalog?bind=postgresql" }, async ({ page }) => {
    await page.getByRole("dialog").getByText("You may not bind this.").waitFor();
  });
});

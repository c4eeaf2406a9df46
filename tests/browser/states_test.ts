import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { freePort } from "../../scripts/controlplane/free_port.ts";
import { EXPORTS, GRANTS } from "../../common/api/resources.ts";
import { picture, seriousFindings } from "../support/peers/browser.ts";
import { FaultProxy } from "../support/faults/fault_proxy.ts";
import { once, UiWorld } from "../support/worlds/ui_world.ts";

const COUNT = 500;
const API = "widgets.example.org";
const COLOURS = ["amber", "blue", "crimson", "denim", "ebony", "fuchsia", "green"];
const colourOf = (index: number) => COLOURS[index % COLOURS.length] ?? "";
const nameOf = (index: number) => `service-${String(index).padStart(3, "0")}`;

/** The Exports of a large catalog. */
const OFFERS = Array.from({ length: COUNT }, (_, index) => ({
  name: nameOf(index),
  title: `The ${colourOf(index)} service ${index}`,
  description: "One of many, described in as many words as people write.",
  apis: [API],
}));
const GROUPS = [{
  name: "greens",
  title: "Everything green",
  exports: OFFERS.filter(({ title }) => title.includes("green")).map(({ name }) => name),
}];

let world: UiWorld;
Deno.test.beforeEach(once(async () => {
  world = await UiWorld.start();
}));
Deno.test.afterAll(() => world?.[Symbol.asyncDispose]());

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

Deno.test("empty views say so, and how to connect a cluster", async () => {
  await world.visit({}, async ({ page }) => {
    await page.getByText("Nothing is offered yet").waitFor();
    await page.getByText("0 services").waitFor();
    await picture(page, "catalog_empty");
    assert.deepEqual(await seriousFindings(page), []);
    await page.getByRole("link", { name: "Clusters" }).click();
    await page.getByText("No cluster is connected").waitFor();
    await picture(page, "clusters_empty");
    assert.deepEqual(await seriousFindings(page), []);
    await button(page, "How to connect").click();
    await page.getByRole("dialog", { name: "Connect a cluster" }).waitFor();
  });
});

Deno.test("a view that cannot be loaded shows an error, and can be retried", async (t) => {
  await using proxy = await FaultProxy.start(world.plane);
  const fails = (
    type: { plural: string },
  ) => (proxy.faults = ({ path }) =>
    path.includes(`/${type.plural}`) ? { kind: "status", code: 503 } : undefined);
  const views = [
    { type: EXPORTS, at: "#/catalog", what: "the catalog", then: "Nothing is offered yet" },
    { type: GRANTS, at: "#/clusters", what: "the clusters", then: "No cluster is connected" },
  ];
  for (const { type, at, what, then } of views) {
    await t.step(what, async () => {
      fails(type);
      const flags = ["--install-crds=false"];
      await using gateway = await world.anotherGateway(flags, await proxy.kubeconfig());
      await world.visit({ gateway, at, complaints: /status of 502/ }, async ({ page }) => {
        const alert = page.getByRole("alert");
        await alert.getByText(`Cannot load ${what}`).waitFor();
        proxy.faults = () => undefined;
        await eventually("the retry works", async () => {
          // The button disappears if the page refreshes meanwhile.
          await button(page, "Try again").click({ timeout: 1_000 }).catch(() => {});
          return await page.getByText(then).isVisible();
        }, { everyMs: 500 });
        assert.equal(await alert.count(), 0);
      });
    });
  }
});

Deno.test("a catalog of 500 services can be searched, filtered and scrolled", async (t) => {
  await world.offer(OFFERS, GROUPS);
  await world.visit({}, async ({ page }) => {
    await page.getByText(`${COUNT} services`, { exact: true }).waitFor();
    // Read in one step: a locator finds the cards first, and they may be gone when it reads them.
    const titles = () =>
      page.evaluate<string[]>(
        'Array.from(document.querySelectorAll(".card-title"), (title) => title.textContent)',
      );
    const searches: [search: string, expected: typeof OFFERS][] = [
      ["crimson", OFFERS.filter(({ title }) => title.includes("crimson"))],
      ["service-49", OFFERS.filter(({ name }) => name.startsWith("service-49"))],
      ["everything green", OFFERS.filter(({ title }) => title.includes("green"))],
      ["service 123", OFFERS.filter(({ title }) => title.includes("123"))],
    ];
    for (const [search, expected] of searches) {
      await t.step(search, async () => {
        await page.getByRole("searchbox").fill("");
        await page.getByRole("searchbox").pressSequentially(search);
        await page.getByText(`${expected.length} of ${COUNT} services`, { exact: true }).waitFor();
        const all = new Set(expected.map(({ title }) => title));
        const shown = await titles();
        assert.ok(shown.length > 0 && shown.every((title) => all.has(title)), `${shown}`);
      });
    }
    await page.getByRole("searchbox").fill("");
    await page.getByText(`${COUNT} services`, { exact: true }).waitFor();
    const before = (await titles()).length;
    assert.ok(before < 100, `${before} cards are drawn at once`);
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await eventually("more cards are drawn", async () => (await titles()).length > before);
    await eventually("all cards are drawn", async () => {
      const more = page.getByRole("button", { name: /^Show more/ });
      if (await more.count() > 0) await more.click({ timeout: 1_000 });
      return (await titles()).length === COUNT;
    });
  });
});

Deno.test("the page shows stale data with a notice while the gateway is down", async () => {
  const flags = [`--listen-address=127.0.0.1:${freePort()}`];
  await using gateway = await world.anotherGateway(flags);
  // The error depends on the state of the connections when the gateway was killed.
  const complaints = /ERR_CONNECTION_|ERR_EMPTY|ERR_SOCKET_NOT_CONNECTED/;
  const options = { gateway, at: undefined, complaints };
  await world.visit(options, async ({ page }) => {
    await page.clock.install();
    await page.goto("/");
    await page.getByText(`${COUNT} services`, { exact: true }).waitFor();
    gateway.backend.signal("SIGKILL");
    await gateway.backend.ended();
    await page.clock.runFor(16_000);
    await page.getByText("This may be out of date").waitFor();
    await page.getByText("The gateway cannot be reached").waitFor();
    assert.ok(await page.locator(".card").count() > 0);
    await picture(page, "catalog_stale");
    assert.deepEqual(await seriousFindings(page), []);
    await page.getByRole("link", { name: /^The green service 6$/ }).click();
    await page.getByText("Cannot load the instances").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Bind" }).click();
    await button(page, "Bind").click();
    await page.getByRole("dialog").getByText("The gateway cannot be reached").waitFor();
    await using _back = await world.anotherGateway(flags);
    await button(page, "Try again").last().click();
    await page.getByRole("heading", { name: "Your credential is ready" }).waitFor();
    await button(page, "Done").click();
    await button(page, "Try again").click();
    await page.getByText("This may be out of date").waitFor({ state: "detached" });
  });
});

import assert from "node:assert/strict";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { sessionCookie } from "../support/peers/browser.ts";
import { once, UiWorld } from "../support/worlds/ui_world.ts";
import { SAMPLE_GROUPS, SAMPLE_OFFERS } from "../testdata/sample_catalog.ts";

let world: UiWorld;
/** The origin of the mock identity provider. */
let idpOrigin = "";

Deno.test.beforeEach(once(async () => {
  world = await UiWorld.start(["--provider-name=Northwind platform"]);
  await world.offer(SAMPLE_OFFERS, SAMPLE_GROUPS);
  idpOrigin = new URL((await world.gateway.startLogin()).authorizationUrl).origin;
}));
Deno.test.afterAll(() => world?.[Symbol.asyncDispose]());

/** The browser logs the 401 that leads to the login page. */
const UNAUTHORIZED = /status of 401/;
const PLACES = [
  "",
  "#/catalog?q=sql&collection=data",
  "#/clusters?q=ada&state=live",
  "#/clusters?connect=1",
  "#/catalog?export=postgresql",
  "#/catalog?q=%F0%9F%90%98%26%23%25&bound=1",
];

Deno.test("a page without a session redirects to the login page, and a login leads back", async (t) => {
  for (const place of PLACES) {
    await t.step(place || "the start page", async () => {
      const options = { at: place, origins: [idpOrigin], complaints: UNAUTHORIZED };
      await world.visitAnonymously(options, async ({ page }) => {
        await page.getByRole("heading", { name: "Sign in to Northwind platform" }).waitFor();
        assert.equal(new URL(page.url()).pathname, "/login");
        assert.equal(await page.getByText("session has ended").count(), 0);
        await page.getByRole("link", { name: "Sign in" }).click();
        await page.getByText("jane.doe@example.com").waitFor();
        assert.equal(page.url(), `${world.origin}/${place}`);
      });
    });
  }
});

Deno.test("a session that ends during a visit redirects to the login page, and a login leads back:", async (t) => {
  const endings: [how: string, cookie: string | undefined][] = [
    ["the cookie is deleted", undefined],
    ["the session has expired", await world.session("ada", new Date(0))],
  ];
  for (const [how, cookie] of endings) {
    await t.step(how, async () => {
      const place = "#/catalog?q=sql&collection=data";
      const options = { at: place, origins: [idpOrigin], complaints: UNAUTHORIZED };
      await world.visit(options, async ({ page, context }) => {
        await page.getByRole("link", { name: "PostgreSQL", exact: true }).waitFor();
        await context.clearCookies();
        if (cookie) await context.addCookies([sessionCookie(world.origin, cookie)]);
        await page.getByRole("link", { name: "PostgreSQL", exact: true }).click();
        await page.getByText("Your session has ended").waitFor();
        assert.equal(new URL(page.url()).pathname, "/login");
        await page.getByRole("link", { name: "Sign in" }).click();
        await page.getByRole("dialog", { name: "PostgreSQL" }).waitFor();
        assert.equal(page.url(), `${world.origin}/${place}&export=postgresql`);
        await page.getByText("No objects yet").waitFor();
      });
    });
  }
});

Deno.test("a bind without a session redirects to the login page, which leads back to its dialog", async () => {
  const options = { origins: [idpOrigin], complaints: UNAUTHORIZED };
  await world.visit(options, async ({ page, context }) => {
    await page.getByRole("button", { name: "Bind MySQL" }).click();
    await context.clearCookies();
    await page.getByRole("button", { name: "Bind", exact: true }).click();
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.getByRole("dialog", { name: "Bind MySQL" }).waitFor();
    await page.getByRole("button", { name: "Bind", exact: true }).click();
    await page.getByRole("heading", { name: "Your credential is ready" }).waitFor();
  });
});

Deno.test("Sign out deletes the session, and Back does not restore it", async () => {
  await world.visit({ complaints: UNAUTHORIZED }, async ({ page, context }) => {
    await page.getByText("7 services").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out").waitFor();
    assert.deepEqual(await context.cookies(), []);
    await page.goBack();
    await eventually("the login page is back", () => new URL(page.url()).pathname === "/login");
    await page.getByRole("link", { name: "Sign in" }).waitFor();
  });
});

Deno.test("the login page never redirects to another site", async (t) => {
  for (const redirect of ["//evil.example", "https://evil.example/", "/\\evil.example", "x"]) {
    await t.step(redirect, async () => {
      await world.visitAnonymously({ origins: [idpOrigin] }, async ({ page }) => {
        await page.goto(`/login?redirect=${encodeURIComponent(redirect)}`);
        await page.getByRole("heading", { name: "Sign in to Northwind platform" }).waitFor();
        await page.getByRole("link", { name: "Sign in" }).click();
        await page.getByText("7 services").waitFor();
        assert.equal(page.url(), `${world.origin}/`);
      });
    });
  }
});

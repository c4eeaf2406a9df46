import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { once, UiWorld } from "../support/worlds/ui_world.ts";
import { SAMPLE_GROUPS, SAMPLE_OFFERS } from "../testdata/sample_catalog.ts";

let world: UiWorld;
Deno.test.beforeEach(once(async () => {
  world = await UiWorld.start(["--enable-apply"]);
  await world.offer(SAMPLE_OFFERS, SAMPLE_GROUPS);
}));
Deno.test.afterAll(() => world?.[Symbol.asyncDispose]());

/** Returns the accessible name of the focused element. */
const focused = (page: Page) =>
  page.evaluate<string>(`(() => {
    const { activeElement: at } = document;
    return at.ariaLabel ?? (at.labels?.[0] ?? at).textContent.trim();
  })()`);

/** Waits until the element with this name has the focus. */
async function focusIsOn(page: Page, name: string): Promise<void> {
  await eventually(`the focus is on "${name}"`, async () => {
    assert.equal(await focused(page), name);
    return true;
  });
}

/** Presses Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const passed: string[] = [];
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab");
    const now = await focused(page);
    if (now === name) return;
    passed.push(now);
  }
  assert.fail(`Tab does not lead to "${name}", but to ${passed.join(", ")}`);
}

Deno.test("Tab reaches every control in visual order", async () => {
  await world.visit({}, async ({ page }) => {
    await page.getByText("7 services").waitFor();
    const order: string[] = [];
    for (let presses = 0; presses < 12; presses++) {
      await page.keyboard.press("Tab");
      order.push(await focused(page));
    }
    assert.deepEqual(order, [
      "Skip to content",
      "Catalog",
      "Clusters",
      "Sign out",
      "Search services",
      "Collection",
      "Bound by me",
      "PostgreSQL",
      "Bind PostgreSQL",
      "Docs of PostgreSQL",
      "MySQL",
      "Bind MySQL",
    ]);
  });
});

Deno.test("a bind works with the keyboard alone, and its dialog keeps the focus", async () => {
  await world.visit({ who: "keys" }, async ({ page }) => {
    await page.getByText("7 services").waitFor();
    await tabTo(page, "Bind Widgets");
    await page.keyboard.press("Enter");
    await focusIsOn(page, "Bind Widgets"); // the title of the dialog
    await page.getByRole("dialog").waitFor();
    await tabTo(page, "Bind");
    await page.keyboard.press("Enter");
    await focusIsOn(page, "Your credential is ready");
    await tabTo(page, "Download");
    await page.keyboard.press("ArrowRight");
    await focusIsOn(page, "Command");
    await page.keyboard.press("End");
    await focusIsOn(page, "Apply");
    await tabTo(page, "or paste it here");
    await page.keyboard.press("Home");
    // Tab cycles through the dialog and the browser's own controls only.
    for (let presses = 0; presses < 20; presses++) {
      await page.keyboard.press("Tab");
      const isInside = await page.evaluate(
        `document.activeElement === document.body || !!document.activeElement.closest("dialog")`,
      );
      assert.ok(isInside, await focused(page));
    }
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await eventually("the address changes", () => page.url().endsWith("#/catalog"));
    const button = /^Bind( again:)? Widgets$/;
    await eventually("the focus is back", async () => button.test(await focused(page)));
  });
});

Deno.test("details open and close by keyboard, and return the focus", async () => {
  await world.visit({}, async ({ page }) => {
    await page.getByText("7 services").waitFor();
    for (const close of ["Escape", "button"]) {
      await tabTo(page, "MySQL");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog", { name: "MySQL" }).waitFor();
      if (close === "button") {
        await tabTo(page, "Close");
        await page.keyboard.press("Enter");
      } else await page.keyboard.press(close);
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await focusIsOn(page, "MySQL");
      await page.keyboard.press("Shift+Tab");
    }
  });
});

Deno.test("a slash focuses the search, but not in a text field or a dialog", async () => {
  await world.visit({}, async ({ page }) => {
    await page.getByText("7 services").waitFor();
    await page.keyboard.press("/");
    await focusIsOn(page, "Search services");
    await page.keyboard.type("a/b");
    assert.equal(await page.getByRole("searchbox").inputValue(), "a/b");
    await page.goto("/#/catalog?export=mysql");
    await page.getByRole("dialog", { name: "MySQL" }).waitFor();
    await page.keyboard.press("/");
    await focusIsOn(page, "MySQL");
  });
});

Deno.test("the first Tab leads to a link that skips the header", async () => {
  await world.visit({ at: "#/clusters" }, async ({ page }) => {
    await page.getByText(/\d live/).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate("document.activeElement.tagName"), "MAIN");
    await page.keyboard.press("Tab");
    await focusIsOn(page, "Connect a cluster");
    assert.match(page.url(), /#\/clusters$/);
  });
});

Deno.test("the page has no animation with reduced motion", async () => {
  const moving = (page: Page) =>
    page.evaluate<number>(`document.getAnimations().filter(
      ({ effect }) => effect.getComputedTiming().duration > 0).length`);
  for (const reducedMotion of [false, true]) {
    await world.visit({ reducedMotion, at: undefined }, async ({ page }) => {
      await page.route("**/api/clusters", () => {}); // the page keeps loading
      await page.goto("/#/clusters?connect=1");
      await page.getByRole("dialog").waitFor();
      await page.getByLabel("Loading the clusters").waitFor({ state: "attached" });
      assert.equal(await moving(page) > 0, !reducedMotion);
    });
  }
});

Deno.test("the user name and Sign out are visible at every width", async (t) => {
  await world.visit({ who: "somebody-with-quite-a-long-name" }, async ({ page }) => {
    for (const width of [320, 360, 480, 705, 768, 1024, 1920]) {
      await t.step(`${width} px`, async () => {
        await page.setViewportSize({ width, height: 700 });
        for (const text of ["Sign out", "somebody-with-quite-a-long-name@example.org"]) {
          const box = await page.getByText(text).boundingBox() ?? assert.fail(text);
          assert.ok(box.width > 40 && box.x >= 0 && box.x + box.width <= width, text);
        }
        assert.equal(
          await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
          true,
        );
      });
    }
  });
});

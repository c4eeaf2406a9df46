import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import { summaryText } from "../../common/api/sync_summary.ts";
import { ICON_HOST, picture, SIZES } from "../support/peers/browser.ts";
import { customType } from "../support/planes/issuer_samples.ts";
import { once, UiWorld } from "../support/worlds/ui_world.ts";
import { BAD_LINKS, HOSTILE_GROUPS, hostileOffers } from "../testdata/hostile_catalog.ts";

const LONG_UID = "u".repeat(200);
let world: UiWorld;
let names: string[] = [];

Deno.test.beforeEach(once(async () => {
  const flags = [`--provider-name=${"Provider".repeat(30)}`, "--enable-apply"];
  world = await UiWorld.start(flags);
  const offers = hostileOffers(world.origin);
  names = offers.map(({ name }) => name);
  await world.offer(offers, HOSTILE_GROUPS);
  using konnector = await world.connect(WHO, "unbroken", LONG_UID);
  await konnector.beat(3_600);
  const problem = {
    api: "widgets.example.org",
    namespace: "n".repeat(63),
    name: "p".repeat(250),
    reason: "R".repeat(64),
    message: `<img src=x onerror="globalThis.wasHit = 1">${"m".repeat(160)}`,
  };
  await konnector.tell({
    [ANNOTATIONS.clusterName]: "C".repeat(63),
    [ANNOTATIONS.konnectorVersion]: "1".repeat(64),
    [ANNOTATIONS.syncSummary]: summaryText({
      objects: Number.MAX_SAFE_INTEGER,
      conflicts: Number.MAX_SAFE_INTEGER,
      rejected: Number.MAX_SAFE_INTEGER,
      problems: [problem],
    }),
  });
  await world.provider.makeNamespace("n".repeat(63));
  const widgets = customType("widgets.example.org");
  await konnector.sync(widgets, "n".repeat(63), "o".repeat(250));
  await world.bind(WHO, "markup");
}));
Deno.test.afterAll(() => world?.[Symbol.asyncDispose]());

/** A user with a very long name. */
const WHO = "x".repeat(120);

/** Lists the elements that can only be reached by scrolling sideways. */
const overflow = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const width = document.documentElement.clientWidth;
    const isHidden = (element) => element.closest(".unseen, .skip, [hidden], thead") !== null;
    const beyond = [...document.querySelectorAll("body *")].filter((element) =>
      !isHidden(element) && element.getClientRects().length > 0 &&
      element.getBoundingClientRect().right > width + 0.5 && clipping(element) === null);
    function clipping(element) {
      for (let at = element.parentElement; at; at = at.parentElement) {
        if (getComputedStyle(at).overflowX !== "visible" && at.tagName !== "DIALOG" &&
          at.getBoundingClientRect().right <= width + 0.5) return at;
      }
      return null;
    }
    const scrolls = [document.documentElement, ...document.querySelectorAll("dialog")]
      .filter((element) => element.scrollWidth > element.clientWidth + 1);
    return [...beyond, ...scrolls].map((element) => element.tagName + "." + element.className);
  })()`);

const wasHit = (page: Page) => page.evaluate("globalThis.wasHit === undefined ? 'no' : 'yes'");

Deno.test("the page shows hostile texts as text, and runs none of them", async () => {
  await world.visit({ who: WHO }, async ({ page, requests }) => {
    await page.getByText(`${names.length} services`).waitFor();
    await page.getByRole("heading", { name: "<img src=x onerror" }).first().waitFor();
    await eventually("all cards are drawn", async () => {
      await page.evaluate("scrollTo(0, document.body.scrollHeight)");
      return await page.locator(".card").count() === names.length;
    });
    const targets = await page.evaluate<string[]>(
      `[...document.querySelectorAll("a[href], img[src]")].map((each) => each.href ?? each.src)`,
    );
    assert.ok(targets.length > names.length);
    for (const target of targets) assert.match(target, /^https?:\/\//);
    for (let index = 0; index < BAD_LINKS.length; index++) {
      const card = page.locator(".card").filter({ hasText: `Link ${index}` });
      assert.equal(await card.locator("img, a.outside").count(), 0, `${BAD_LINKS[index]}`);
    }
    await page.getByRole("link", { name: "blank", exact: true }).waitFor();
    for (const letter of await page.locator(".service-letter").allTextContents()) {
      assert.match(letter, /^[^\s\p{C}]$/u);
    }
    assert.equal(await page.locator(".card script, .card style, .card-text img").count(), 0);
    assert.equal(await wasHit(page), "no");
    const elsewhere = requests.filter((request) => !request.includes(`GET ${world.origin}`));
    assert.ok(elsewhere.every((request) => request.startsWith(`GET https://${ICON_HOST}/`)));
    assert.ok(!requests.some((request) => request.includes("logout")));
  });
});

for (const size of Object.keys(SIZES) as (keyof typeof SIZES)[]) {
  Deno.test(`hostile texts do not widen the page: ${size}`, async (t) => {
    const places = [
      "#/catalog",
      "#/clusters",
      ...["markup", "unbroken", names.find((name) => name.startsWith("aaa")), "right-to-left"]
        .flatMap((name) => [`#/catalog?export=${name}`, `#/catalog?bind=${name}`]),
    ];
    await world.visit({ who: WHO, size }, async ({ page }) => {
      for (const place of places) {
        await t.step(place.slice(0, 40), async () => {
          await page.goto(`/${place}`);
          await page.locator(".card, .cluster").first().waitFor();
          await page.locator(".who").filter({ hasText: /\S/ }).waitFor();
          const dialog = page.getByRole("dialog");
          if (place.includes("export=")) await dialog.getByText(/No objects yet|oooo/).waitFor();
          if (place.includes("bind=")) {
            await dialog.getByRole("button", { name: "Bind", exact: true }).click();
            await dialog.getByRole("tab", { name: "Command" }).click();
          }
          assert.deepEqual(await overflow(page), []);
          assert.equal(await wasHit(page), "no");
          for (const always of [page.locator(".who"), page.getByText("Sign out")]) {
            const { x = 0, width = 0 } = await always.boundingBox() ?? {};
            assert.ok(width > 30 && x + width <= SIZES[size].width, `${x} and ${width}`);
          }
          await picture(page, `hostile_${size}${place.replaceAll(/\W+/g, "_").slice(0, 30)}`);
        });
      }
    });
  });
}

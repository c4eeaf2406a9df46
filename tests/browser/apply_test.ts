import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { ControlPlane } from "../../scripts/controlplane/control_plane.ts";
import { DEPLOYMENTS, SECRETS } from "../../common/api/resources.ts";
import { grantName } from "../../common/api/names.ts";
import { commands } from "../../ui/logic/commands.ts";
import { ownPlane } from "../support/planes/control_planes.ts";
import { connect, type Connected, uniqueName } from "../support/planes/kube.ts";
import { SecretSearch } from "../support/programs/secret_search.ts";
import { once, subjectOf, UiWorld } from "../support/worlds/ui_world.ts";
import { SAMPLE_GROUPS, SAMPLE_OFFERS } from "../testdata/sample_catalog.ts";

const IMAGE = "registry.example.org/konnector:browser";
let world: UiWorld;
/** Not the shared consumer: other tests install other konnectors there. */
let plane: ControlPlane;
let consumer: Connected;

Deno.test.beforeEach(once(async () => {
  plane = await ownPlane({ name: "consumer", controllerManager: false });
  consumer = await connect(plane);
  world = await UiWorld.start(["--enable-apply", `--konnector-image=${IMAGE}`]);
  await world.offer(SAMPLE_OFFERS, SAMPLE_GROUPS);
}));
Deno.test.afterAll(async () => {
  consumer?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
  await plane?.[Symbol.asyncDispose]();
});

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

/** Binds, and opens the form for a kubeconfig. */
async function openForm(page: Page, title: string): Promise<void> {
  await button(page, `Bind ${title}`).click();
  await button(page, "Bind").click();
  await page.getByRole("tab", { name: "Apply" }).click();
}

/** Returns the facts that the page shows of a kubeconfig before it is sent. */
const facts = async (page: Page) => {
  const lines = page.locator(".facts div");
  await lines.first().waitFor();
  return Object.fromEntries((await lines.allInnerTexts()).map((text) => text.split("\n")));
};

const applied = async (page: Page): Promise<string[]> =>
  await page.getByRole("list", { name: "Applied objects" }).getByRole("listitem")
    .allInnerTexts();

/** Returns whether the consumer has the credential of a user for a service. */
const hasSecret = async (who: string, exportName: string): Promise<boolean> => {
  const name = grantName(exportName, subjectOf(who));
  return await consumer.kube.find(SECRETS, { name, namespace: "xbind" }) !== undefined;
};

Deno.test("the apply form shows a kubeconfig file, then applies the bundle and the konnector", async () => {
  const who = uniqueName("ada");
  await world.visit({ who }, async ({ page, requests }) => {
    await openForm(page, "PostgreSQL");
    assert.equal(await button(page, "Apply").isDisabled(), true);
    await page.getByLabel("Kubeconfig file").setInputFiles(plane.adminKubeconfig);
    const { Context: context, ...rest } = await facts(page);
    assert.ok(context);
    assert.deepEqual(rest, { Server: plane.server, User: "admin" });
    assert.equal(requests.some((request) => request.endsWith("/api/apply")), false);
    assert.equal(await page.getByRole("checkbox").isChecked(), true);
    await button(page, `Apply to ${context}`).click();
    await page.getByRole("heading", { name: `Applied 13 objects to ${context}` }).waitFor();
    const grant = grantName("postgresql", subjectOf(who));
    assert.deepEqual((await applied(page)).slice(-4), [
      "Deployment/konnector",
      `Secret/${grant}`,
      `Connection/${grant}`,
      `ClusterBinding/${grant}`,
    ]);
    assert.equal(await hasSecret(who, "postgresql"), true);
    const konnector = { name: "konnector", namespace: "xbind" };
    assert.ok(JSON.stringify(await consumer.kube.get(DEPLOYMENTS, konnector)).includes(IMAGE));
    await button(page, "Apply to another cluster").click();
    assert.equal(await page.getByLabel("or paste it here").inputValue(), "");
  });
});

Deno.test("the apply form accepts a pasted kubeconfig, and can leave out the konnector", async () => {
  const who = uniqueName("bea");
  await world.visit({ who }, async ({ page }) => {
    await openForm(page, "Widgets");
    await page.getByLabel("or paste it here").fill(await Deno.readTextFile(plane.adminKubeconfig));
    const { Context: context, Server: server } = await facts(page);
    assert.equal(server, plane.server);
    await page.getByRole("checkbox").uncheck();
    await button(page, `Apply to ${context}`).click();
    await page.getByRole("heading", { name: `Applied 4 objects to ${context}` }).waitFor();
    const grant = grantName("widgets", subjectOf(who));
    assert.deepEqual(await applied(page), [
      "Namespace/xbind",
      `Secret/${grant}`,
      `Connection/${grant}`,
      `ClusterBinding/${grant}`,
    ]);
  });
});

Deno.test("the apply form reports a bad kubeconfig before and after it is sent", async () => {
  const who = uniqueName("cid");
  const text = await Deno.readTextFile(plane.adminKubeconfig);
  const options = { who, complaints: /status of (400|502)/ };
  await world.visit(options, async ({ page }) => {
    await openForm(page, "MySQL");
    const area = page.getByLabel("or paste it here");
    await area.fill("apiVersion: v1\n");
    await page.getByText("It has no current-context.").waitFor();
    await area.fill(text.replace(/client-key-data:.*/, "client-key: /etc/passwd"));
    await page.getByText('It uses "client-key": the gateway accepts inline').waitFor();
    await page.getByRole("button", { name: /^Apply to / }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("Not applied").waitFor();
    await alert.getByText(/client-key/).waitFor();
    assert.equal(await alert.getByText("applying again is safe").count(), 0);
    await area.fill(text.replace(/server: .*/, "server: https://127.0.0.1:1"));
    await alert.waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^Apply to / }).click();
    await alert.getByText("applying again is safe").waitFor();
    assert.equal(await hasSecret(who, "mysql"), false);
    await area.fill(text);
    await page.getByRole("button", { name: /^Apply to / }).click();
    await page.getByRole("heading", { name: /^Applied 13 objects/ }).waitFor();
    assert.equal(await hasSecret(who, "mysql"), true);
  });
});

Deno.test("the connect dialog offers a command, a file and the apply form", async () => {
  await world.visit({ at: "#/clusters?connect=1" }, async ({ page }) => {
    await page.getByRole("dialog").waitFor(); // also opened by a link
    await button(page, "Close").click();
    await button(page, "Connect a cluster").click();
    const dialog = page.getByRole("dialog", { name: "Connect a cluster" });
    await dialog.getByText(`kubectl bind connect --server ${world.origin}`).waitFor();
    await button(page, "Copy the curl command").click();
    await dialog.getByText("Copied").waitFor();
    assert.equal(
      await page.evaluate("navigator.clipboard.readText()"),
      commands.installKonnector(world.origin),
    );
    await page.getByRole("tab", { name: "Download" }).click();
    await dialog.getByText(commands.installKonnectorFile("konnector.yaml")).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      dialog.getByRole("link", { name: "Download konnector.yaml" }).click(),
    ]);
    assert.equal(download.suggestedFilename(), "konnector.yaml");
    assert.ok((await Deno.readTextFile(await download.path())).includes(IMAGE));
    await page.getByRole("tab", { name: "Apply" }).click();
    assert.equal(await page.getByRole("checkbox").count(), 0);
    await page.getByLabel("Kubeconfig file").setInputFiles(plane.adminKubeconfig);
    await page.getByRole("button", { name: /^Apply to / }).click();
    await page.getByRole("heading", { name: /^Applied 10 objects/ }).waitFor();
    await button(page, "Done").click();
    await dialog.waitFor({ state: "detached" });
  });
});

Deno.test("the page has no apply form without --enable-apply", async () => {
  await using gateway = await world.anotherGateway([]);
  await world.visit({ gateway, at: "#/catalog?bind=widgets" }, async ({ page }) => {
    await button(page, "Bind").click();
    await page.getByRole("tab", { name: "Command" }).waitFor();
    assert.equal(await page.getByRole("tab").count(), 2);
    await page.goto(`${new URL(page.url()).origin}/#/clusters?connect=1`);
    await page.getByRole("tab", { name: "Download" }).waitFor();
    assert.equal(await page.getByRole("tab").count(), 2);
  });
});

/** Lists everything that the page stores in the browser, as JSON. */
const KEPT = `(async () => {
  const cached = [];
  for (const name of await caches.keys()) {
    for (const { url } of await (await caches.open(name)).keys()) cached.push(url);
  }
  return JSON.stringify({
    local: { ...localStorage },
    session: { ...sessionStorage },
    databases: await indexedDB.databases(),
    cached,
    cookies: document.cookie,
    address: location.href,
    history: history.state,
    name: window.name,
  });
})()`;
const kept = async (page: Page): Promise<string> => await page.evaluate<string>(KEPT);

Deno.test("the page stores no kubeconfig, pickup or session in the browser", async () => {
  const search = new SecretSearch();
  const kubeconfig = await Deno.readTextFile(plane.adminKubeconfig);
  search.plant("the kubeconfig's key", /client-key-data: (\S+)/.exec(kubeconfig)?.[1]);
  await world.visit({ who: uniqueName("dora") }, async ({ page, context }) => {
    const session = (await context.cookies()).find(({ httpOnly }) => httpOnly);
    search.plant("the session", session?.value);
    const bound = page.waitForResponse((answer) => answer.url().endsWith("/api/bind"));
    await openForm(page, "PostgreSQL");
    const { pickupURL } = await (await bound).json();
    search.plant("the pickup", pickupURL.split("/").at(-1));
    await page.getByLabel("or paste it here").fill(kubeconfig);
    search.look("filled in", await kept(page));
    const { Context: target } = await facts(page);
    await button(page, `Apply to ${target}`).click();
    await page.getByRole("heading", { name: /^Applied 13 objects/ }).waitFor();
    search.look("applied", await kept(page));
    await page.reload();
    await page.getByRole("heading", { level: 1 }).waitFor();
    search.look("loaded again", `${await kept(page)} ${await page.content()}`);
    search.assertNothingFound(["filled in", "applied", "loaded again"]);
    await page.evaluate((text) => localStorage.setItem("left", text), pickupURL);
    search.look("loaded again", await kept(page));
    assert.throws(() => search.assertNothingFound(["filled in", "applied", "loaded again"]));
  });
});

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import type { ControlPlane } from "../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { EXPORTS } from "../../common/api/resources.ts";
import { grantName } from "../../common/api/names.ts";
import { picture, seriousFindings } from "../support/peers/browser.ts";
import { sharedConsumer } from "../support/planes/control_planes.ts";
import { temporaryDir, uniqueName } from "../support/planes/kube.ts";
import { once, subjectOf, UiWorld } from "../support/worlds/ui_world.ts";
import { SAMPLE_GROUPS, SAMPLE_OFFERS } from "../testdata/sample_catalog.ts";

const PICKUP_TTL_SECONDS = 12;
const CRDS = new URL("../../crds", import.meta.url).pathname;
let world: UiWorld;
let consumer: ControlPlane;

Deno.test.beforeEach(once(async () => {
  consumer = await sharedConsumer();
  world = await UiWorld.start();
  await world.offer(SAMPLE_OFFERS, SAMPLE_GROUPS);
  // The parts of the konnector's manifest that a bundle needs.
  const crds = ["connections", "clusterbindings"].map((plural) => `${plural}.core.xbind.io`);
  const files = crds.flatMap((crd) => ["-f", join(CRDS, `${crd}.yaml`)]);
  await kubectl(["apply", "--server-side", "--force-conflicts", ...files]);
  await kubectl(["wait", "--for=condition=Established", ...crds.map((crd) => `crd/${crd}`)]);
  await kubectl(
    ["apply", "-f", "-"],
    '{ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "xbind" } }',
  );
}));
Deno.test.afterAll(() => world?.[Symbol.asyncDispose]());

/** Runs kubectl on the consumer cluster, and returns its output. */
async function kubectl(args: string[], stdin?: string): Promise<string> {
  const { code, stdout, stderr } = await consumer.kubectl(args, stdin ? { stdin } : {});
  assert.equal(code, 0, stderr);
  return stdout;
}

/** Runs kubectl on the provider with the credential that the consumer cluster has. */
async function useCredential(grant: string, args: string[], stdin?: string): Promise<string> {
  const path = "jsonpath={.data.kubeconfig}";
  const encoded = await kubectl(["get", "secret", "-n", "xbind", grant, "-o", path]);
  await using dir = await temporaryDir();
  const kubeconfig = join(dir.path, "kubeconfig");
  await Deno.writeTextFile(kubeconfig, Buffer.from(encoded, "base64").toString());
  const options = { kubeconfig, ...(stdin ? { stdin } : {}) };
  const { code, stdout, stderr } = await world.plane.kubectl(args, options);
  assert.equal(code, 0, stderr);
  return stdout;
}

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

/** Binds from the catalog until the credential can be picked up. */
async function bind(page: Page, title: string): Promise<void> {
  await button(page, `Bind ${title}`).click();
  await button(page, "Bind").click();
  await page.getByRole("heading", { name: "Your credential is ready" }).waitFor();
}

Deno.test("the bind dialog lists the rights, and its download works on a cluster", async () => {
  const who = uniqueName("ada");
  const grant = grantName("postgresql", subjectOf(who));
  await world.visit({ who }, async ({ page, requests }) => {
    await button(page, "Bind PostgreSQL").click();
    const dialog = page.getByRole("dialog", { name: "Bind PostgreSQL" });
    await dialog.getByText("This credential can read every Secret of the provider").waitFor();
    for (const api of ["databases", "backups", "users"]) {
      await dialog.getByText(`Read and write ${api}.pg.example.org`).waitFor();
    }
    const isBind = (request: string) => request.startsWith("POST");
    assert.equal(requests.filter(isBind).length, 0);
    await button(page, "Bind").click();
    const ready = dialog.getByRole("heading", { name: "Your credential is ready" });
    await ready.waitFor();
    assert.equal(
      await page.evaluate("document.activeElement.textContent"),
      "Your credential is ready",
    );
    assert.match(await dialog.getByRole("timer").innerText(), /^(4:\d\d|5:00)$/);
    await dialog.getByText("What this credential is allowed to do").click();
    await dialog.getByText("Read and write backups.pg.example.org").waitFor();

    const [download] = await Promise.all([
      page.waitForEvent("download"),
      button(page, "Download bundle").click(),
    ]);
    assert.equal(download.suggestedFilename(), `${grant}.yaml`);
    await dialog.getByText("The pickup is used", { exact: true }).waitFor();
    await dialog.getByText(`Saved as ${grant}.yaml`).waitFor();
    await kubectl(["apply", "-f", await download.path()]);
    const database = { apiVersion: "pg.example.org/v1", kind: "Database" };
    const metadata = { name: "orders", namespace: "default" };
    const text = JSON.stringify({ ...database, metadata });
    assert.match(await useCredential(grant, ["create", "-f", "-"], text), /orders created/);
    assert.equal(requests.filter(isBind).length, 1);

    await button(page, "Done").click();
    await dialog.waitFor({ state: "detached" });
    await page.getByTitle("Bound, never connected").waitFor();
    await button(page, "Bind again: PostgreSQL").waitFor();
  });
});

Deno.test("the bind dialog copies its commands, and the curl command works once", async () => {
  const who = uniqueName("bea");
  await world.visit({ who }, async ({ page }) => {
    await bind(page, "Widgets");
    await page.getByRole("tab", { name: "Command" }).click();
    const copied = async (name: string) => {
      await button(page, name).click();
      const field = page.locator(".copy").filter({ has: button(page, name) });
      await field.getByText("Copied").waitFor();
      return await page.evaluate<string>("navigator.clipboard.readText()");
    };
    assert.equal(
      await copied("Copy the kubectl command"),
      `kubectl bind export widgets --server ${world.origin}`,
    );
    const line = await copied("Copy the curl command");
    const run = () =>
      new Deno.Command("sh", {
        args: ["-ec", line],
        env: {
          KUBECONFIG: consumer.adminKubeconfig,
          PATH: `${dirname(consumer.kubectlPath)}:${Deno.env.get("PATH")}`,
        },
        stderr: "piped",
      }).output();
    const { success, stderr } = await run();
    assert.ok(success, new TextDecoder().decode(stderr));
    const grant = grantName("widgets", subjectOf(who));
    await useCredential(grant, ["get", "widgets.example.org", "-A"]);
    assert.equal((await run()).success, false);
  });
});

Deno.test("the bind dialog reports a used pickup, and can bind again", async () => {
  const options = { who: uniqueName("cid"), complaints: /status of 410/ };
  await world.visit(options, async ({ page }) => {
    await bind(page, "MySQL");
    await world.bind(options.who, "mysql"); // replaces the page's pickup
    await button(page, "Download bundle").click();
    await page.getByRole("alert").getByText("Not downloaded").waitFor();
    await button(page, "Bind again").click();
    await page.getByRole("timer").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      button(page, "Download bundle").click(),
    ]);
    assert.match(await Deno.readTextFile(await download.path()), /kind: Connection/);
  });
});

Deno.test("the bind dialog counts down to the pickup's expiry, and can bind again", async () => {
  await using gateway = await world.anotherGateway([`--pickup-ttl=${PICKUP_TTL_SECONDS}s`]);
  await world.visit({ who: uniqueName("dan"), gateway }, async ({ page }) => {
    await bind(page, "DNS records");
    assert.match(await page.getByRole("timer").innerText(), /^0:(0[1-9]|1[0-2])$/);
    await page.getByText("The pickup has expired").waitFor();
    await picture(page, "bind_expired");
    assert.deepEqual(await seriousFindings(page), []);
    assert.equal(await button(page, "Download bundle").isDisabled(), true);
    await page.getByRole("tab", { name: "Command" }).click();
    await page.getByText("bind again for a new command").waitFor();
    assert.equal(await button(page, "Copy the curl command").count(), 0);
    await button(page, "Bind again").click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      button(page, "Download bundle").click(),
    ]);
    assert.match(await Deno.readTextFile(await download.path()), /kind: Connection/);
  });
});

Deno.test("the bind dialog shows why a bind failed, and can retry it", async () => {
  const offer = { name: "fleeting", title: "Fleeting", apis: ["widgets.example.org"] };
  await world.offer([offer]);
  await world.visit({ complaints: /status of 404/ }, async ({ page }) => {
    await button(page, "Bind Fleeting").click();
    await page.route("**/api/catalog", () => {}); // the page keeps its old catalog
    await world.provider.kube.delete(EXPORTS, { name: "fleeting" });
    await button(page, "Bind").click();
    await page.getByRole("alert").getByText('Cannot find Export "fleeting"').waitFor();
    await world.offer([offer]);
    await button(page, "Try again").click();
    await page.getByRole("heading", { name: "Your credential is ready" }).waitFor();
  });
});

Deno.test("the bind dialog warns of access to all Secrets and ConfigMaps", async () => {
  await world.visit({ who: uniqueName("fay") }, async ({ page }) => {
    await button(page, "Bind Object storage").click();
    const dialog = page.getByRole("dialog", { name: "Bind Object storage" });
    await dialog.getByText("This credential can read every Secret of the provider").waitFor();
    await dialog.getByText("This credential can change every ConfigMap of the provider").waitFor();
    await button(page, "Close").click();
    await dialog.waitFor({ state: "detached" });
  });
});

Deno.test("the bind dialog shows progress, and can be cancelled", async () => {
  await world.visit({ who: uniqueName("eve") }, async ({ page }) => {
    const held = Promise.withResolvers<void>();
    await page.route("**/api/bind", async (route) => {
      await held.promise;
      await route.continue().catch(() => {}); // the page may have cancelled the request
    });
    await button(page, "Bind Certificates").click();
    await page.getByText("This credential can take over the provider").waitFor();
    await button(page, "Bind").click();
    await page.getByRole("progressbar", { name: "Preparing your credential" }).waitFor();
    await button(page, "Cancel").click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    held.resolve();
    await eventually("the address changes", () => page.url().endsWith("#/catalog"));
  });
});

Deno.test("a link to bind an unknown Export opens a dialog that says so", async () => {
  await world.visit({ at: "#/catalog?bind=absent" }, async ({ page }) => {
    await page.getByRole("dialog", { name: "Not in the catalog" }).getByText("absent").waitFor();
    await button(page, "Close").last().click();
    await page.getByText(/\d services/).waitFor();
  });
});

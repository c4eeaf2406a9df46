import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { ANNOTATIONS } from "../../common/api/names.ts";
import { summaryText } from "../../common/api/sync_summary.ts";
import type { Clusters } from "../../common/api/wire.ts";
import { picture, seriousFindings, SIZES, type Visit } from "../support/peers/browser.ts";
import { customType } from "../support/planes/issuer_samples.ts";
import { TestKonnector } from "../support/worlds/test_konnector.ts";
import { once, UiWorld } from "../support/worlds/ui_world.ts";
import { SAMPLE_GROUPS, SAMPLE_OFFERS } from "../testdata/sample_catalog.ts";

const UIDS = [
  "3f1c9a52-7f0e-4c1b-9a57-1c8a4be0d101",
  "8d2e6b14-02aa-4f3c-8c61-77b1e0f9a202",
  "b07f54c8-94d1-4b5e-a6f3-0e9d3c1ba303",
];
const { clusterName, konnectorVersion, syncSummary } = ANNOTATIONS;
const NAMED = { [clusterName]: "prod-eu", [konnectorVersion]: "1.2.0" };
/** What the konnector of the first cluster tells, by Export. */
const REPORTS: Record<string, Record<string, string>> = {
  "message-queues": {
    ...NAMED,
    [syncSummary]: summaryText({ objects: 0, conflicts: 0, rejected: 0, problems: [] }),
  },
  postgresql: {
    ...NAMED,
    [syncSummary]: summaryText({
      objects: 5,
      conflicts: 1,
      rejected: 1,
      problems: [
        {
          api: "databases.pg.example.org",
          namespace: "shop",
          name: "archive",
          reason: "Rejected",
          message: "spec.storage: Invalid value: 9000: at most 500 GiB are allowed in this plan",
        },
        {
          api: "databases.pg.example.org",
          namespace: "shop",
          name: "legacy",
          reason: "ForeignObjectExists",
          message: "The provider has an object of this name that xbind did not make",
        },
      ],
    }),
  },
};
let world: UiWorld;
let kubeconfig = "";

Deno.test.beforeEach(once(async () => {
  world = await UiWorld.start(["--enable-apply", "--provider-name=Northwind platform"]);
  kubeconfig = world.plane.adminKubeconfig;
  await world.offer(SAMPLE_OFFERS, SAMPLE_GROUPS);
  await world.provider.makeNamespace("shop");
  const connect = async (who: string, offer: string, uids: string[], seconds: number) => {
    const bundle = await world.bundle(who, offer);
    for (const uid of uids) {
      using konnector = await TestKonnector.start(bundle, uid);
      await konnector.beat(seconds);
      if (uid === UIDS[0]) await konnector.tell(REPORTS[offer] ?? {});
      if (offer !== "postgresql" || uid !== UIDS[0]) continue;
      for (const name of ["orders", "billing", "search"]) {
        await konnector.sync(customType("databases.pg.example.org"), "shop", name);
      }
    }
  };
  await connect("ada", "postgresql", UIDS.slice(0, 2), 3_600);
  await connect("ada", "message-queues", UIDS.slice(0, 1), 3_600);
  await connect("grace", "mysql", UIDS.slice(2), 1);
  await world.bind("ada", "object-storage");
  const session = await world.session("ada");
  await eventually("the clusters are live and silent as planned", async () => {
    const { clusters } = await world.gateway.read<Clusters>(session, "/api/clusters");
    const counts = clusters.flatMap(({ bindings }) => bindings.flatMap(({ apis }) => apis));
    return counts.some(({ syncedCount }) => syncedCount === 3) &&
      clusters.some(({ name }) => name === "prod-eu") &&
      clusters.some(({ live }) => !live);
  });
}));
Deno.test.afterAll(() => world?.[Symbol.asyncDispose]());

const dialogButton = (page: Page, name: string) =>
  page.getByRole("dialog").getByRole("button", { name, exact: true });

async function bindTo(page: Page, tab: string): Promise<void> {
  await dialogButton(page, "Bind").click();
  await page.getByRole("tab", { name: tab }).click();
}

/** A view or dialog, its fragment, and the steps to reach it. */
interface Scene {
  readonly name: string;
  readonly at: string;
  readonly until: (visit: Visit) => Promise<unknown>;
}

const VIEWS: readonly Scene[] = [
  {
    name: "catalog",
    at: "#/catalog",
    until: ({ page }) => page.locator(".badge").nth(2).waitFor(),
  },
  {
    name: "search",
    at: "#/catalog?q=nothing+like+it",
    until: ({ page }) => page.getByText("No service matches").waitFor(),
  },
  {
    name: "details",
    at: "#/catalog?export=postgresql",
    until: async ({ page }) => {
      await page.getByText("shop/orders").waitFor();
      await page.getByRole("table", { name: "Objects that are not synced" }).waitFor();
    },
  },
  {
    name: "clusters",
    at: "#/clusters",
    until: ({ page }) => page.getByRole("button", { name: "1 in conflict, 1 rejected" }).waitFor(),
  },
  {
    name: "connect",
    at: "#/clusters?connect=1",
    until: ({ page }) => page.getByRole("tab", { name: "Apply" }).waitFor(),
  },
  {
    name: "failure",
    at: "#/catalog",
    until: async ({ page }) => {
      await page.route("**/api/catalog", (route) => route.abort());
      await page.reload();
      await page.getByText("Cannot load the catalog").waitFor();
    },
  },
];

const BINDS: readonly Scene[] = [
  {
    name: "not_offered",
    at: "#/catalog?bind=absent",
    until: ({ page }) => page.getByRole("dialog", { name: "Not in the catalog" }).waitFor(),
  },
  {
    name: "bind_failed",
    at: "#/catalog?bind=certificates",
    until: async ({ page }) => {
      await page.route("**/api/bind", (route) => route.abort());
      await dialogButton(page, "Bind").click();
      await page.getByRole("alert").waitFor();
    },
  },
  {
    name: "bind_review",
    at: "#/catalog?bind=postgresql",
    until: ({ page }) => dialogButton(page, "Bind").waitFor(),
  },
  {
    name: "bind_download",
    at: "#/catalog?bind=postgresql",
    until: async ({ page }) => {
      await bindTo(page, "Download");
      await page.getByText("What this credential is allowed to do").click();
    },
  },
  {
    name: "bind_command",
    at: "#/catalog?bind=message-queues",
    until: ({ page }) => bindTo(page, "Command"),
  },
  {
    name: "bind_apply",
    at: "#/catalog?bind=widgets",
    until: async ({ page }) => {
      await bindTo(page, "Apply");
      await page.getByLabel("Kubeconfig file").setInputFiles(kubeconfig);
      await page.getByRole("button", { name: /^Apply to/ }).waitFor();
    },
  },
  {
    name: "bind_applied",
    at: "#/catalog?bind=dns-records",
    until: async ({ page }) => {
      await bindTo(page, "Apply");
      await page.getByLabel("Kubeconfig file").setInputFiles(kubeconfig);
      await page.getByRole("button", { name: /^Apply to/ }).click();
      await page.getByRole("heading", { name: /^Applied/ }).waitFor();
    },
  },
  {
    name: "bind_used",
    at: "#/catalog?bind=mysql",
    until: async ({ page }) => {
      await bindTo(page, "Download");
      await dialogButton(page, "Download bundle").click();
      await page.getByText("Saved as").waitFor();
    },
  },
];

/** The views come first, because binds change them. */
const LOOKS = Object.entries({ view: VIEWS, "step of a bind": BINDS }).flatMap(
  ([what, scenes]) =>
    (Object.keys(SIZES) as (keyof typeof SIZES)[]).flatMap((size) =>
      (["light", "dark"] as const).map((scheme) => ({ what, scenes, size, scheme }))
    ),
);

for (const { what, scenes, size, scheme } of LOOKS) {
  Deno.test(`every ${what} is accessible: ${size}, ${scheme}`, async (t) => {
    const complaints = /ERR_FAILED/; // from the scenes of failures
    await world.visit({ size, scheme, complaints }, async (visit) => {
      const { page } = visit;
      for (const { name, at, until } of scenes) {
        await t.step(name, async () => {
          await page.goto(`/${at}`);
          await until(visit);
          await picture(page, `${name}_${size}_${scheme}`);
          // Dark on a phone adds nothing: other looks check its colours and its layout.
          if (scheme === "light" || size === "desktop") {
            assert.deepEqual(await seriousFindings(page), []);
          }
          await page.unrouteAll();
        });
      }
    });
  });
}

Deno.test("the login page is accessible", async (t) => {
  for (const { size, scheme } of LOOKS.slice(0, 4)) {
    await t.step(`${size}, ${scheme}`, async () => {
      await world.visitAnonymously({ size, scheme, at: "login" }, async ({ page }) => {
        await page.getByRole("heading", { name: "Sign in to Northwind platform" }).waitFor();
        await picture(page, `login_${size}_${scheme}`);
        assert.deepEqual(await seriousFindings(page), []);
      });
    });
  }
});

import assert from "node:assert/strict";
import { parse } from "yaml";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CATALOG_API_VERSION } from "../../../common/api/groups.ts";
import { COLLECTIONS } from "../../../common/api/resources.ts";
import type { Catalog, Clusters, Identity, Instances } from "../../../common/api/wire.ts";
import { ANNOTATIONS, boundaryName, FIELD_MANAGERS, grantName } from "../../../common/api/names.ts";
import { CliUser } from "../../support/programs/cli.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { Gateway, okJson } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { customType, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { objectsIn, TestKonnector } from "../../support/worlds/test_konnector.ts";

const CLUSTER = "5f0c2f3e-9d6a-4f0e-8f6b-0a1b2c3d4e5f";
const HOSTILE = "\u001b[31mEvil\u001b]0;owned\u0007\r\nrow\u202e\u009b2J";
const SHOWN = "�[31mEvil�]0;owned� row��2J";

/** Joins the lines of an expected output. */
const golden = (...lines: string[]): string => lines.map((line) => `${line}\n`).join("");
/** Replaces every age by `<age>`, padded so that the columns stay aligned. */
const withoutAges = (text: string): string =>
  text.replace(
    /(?<=\s)\d+[smh]\S*( *)/g,
    (found, rest: string) => rest === "" ? "<age>" : "<age>".padEnd(found.length),
  );

Deno.test("kubectl bind lists the catalog, clusters and instances of a provider", async (t) => {
  await using plane = await ownPlane();
  await using gateway = await Gateway.start(plane);
  using provider = await TestProvider.of(plane);
  await using user = await CliUser.create();
  const { token } = await gateway.login();
  await user.saveSession(gateway.url, token);
  const { subject } = await gateway.read<Identity>(token, "/api/me");
  const read = <T>(path: string) => gateway.read<T>(token, path);

  await t.step("every list says that it is empty", async () => {
    for (const list of ["catalog", "clusters", "instances"]) {
      const { code, stdout, stderr } = await user.run([list]);
      assert.deepEqual({ code, stdout }, { code: 0, stdout: "" }, list);
      assert.match(stderr, /^No .+\.\n$/);
    }
    assert.equal(await user.output(["catalog", "-o", "json"]), golden("{", '  "exports": []', "}"));
    assert.equal(await user.output(["catalog", "-o", "name"]), "");
  });

  await provider.define(WIDGETS);
  await provider.makeNamespace("team");
  await provider.offerReady("widgets", [WIDGETS], {
    title: "Widgets",
    description: "All sizes",
    docs: "https://example.org/docs",
    defaults: {
      relatedResources: [{
        resource: "configmaps",
        direction: "FromProvider",
        selector: { names: ["settings"] },
      }],
    },
  });
  await provider.offerReady("evil", [WIDGETS], { title: HOSTILE });
  await provider.kube.create(COLLECTIONS, {
    apiVersion: CATALOG_API_VERSION,
    kind: "Collection",
    metadata: { name: "tools" },
    spec: { title: "Tools", exports: [{ name: "widgets" }, { name: "evil" }] },
  }, FIELD_MANAGERS.installer);
  await eventually("the catalog is complete", async () => {
    const { exports, collections } = await read<Catalog>("/api/catalog");
    return exports.length === 2 && collections?.length === 1;
  });

  await t.step("catalog prints Exports, then Collections", async () => {
    assert.equal(
      await user.output(["catalog"]),
      golden(
        `EXPORT    ${"TITLE".padEnd(SHOWN.length)}   APIS`,
        `evil      ${SHOWN}   widgets.example.org`,
        `widgets   ${"Widgets".padEnd(SHOWN.length)}   widgets.example.org`,
        "",
        "COLLECTION   TITLE   EXPORTS",
        "tools        Tools   widgets,evil",
      ),
    );
    assert.equal(
      await user.output(["catalog", "-owide", "--no-headers"]),
      golden(
        `evil      ${SHOWN}   widgets.example.org   <none>      <none>                    <none>                     yes`,
        `widgets   ${"Widgets".padEnd(SHOWN.length)}   widgets.example.org   All sizes   ` +
          "configmaps FromProvider   https://example.org/docs   yes",
        "",
        "tools   Tools   widgets,evil   <none>",
      ),
    );
    assert.equal(
      await user.output(["catalog", "-o=name"]),
      golden(
        "export.catalog.xbind.io/evil",
        "export.catalog.xbind.io/widgets",
        "collection.catalog.xbind.io/tools",
      ),
    );
  });

  await t.step("-o json and -o yaml print the gateway's answer", async () => {
    const said = await read<Catalog>("/api/catalog");
    assert.deepEqual(JSON.parse(await user.output(["catalog", "--output=json"])), said);
    assert.deepEqual(parse(await user.output(["-o", "yaml", "catalog"])), said);
  });

  const bound = await gateway.bind(token, "widgets");
  await t.step("clusters shows Grants that are not in use yet", async () => {
    const pending = await eventually("the Grant is pending", async () => {
      const text = await user.output(["clusters"]);
      return text.includes("PENDING") && text;
    });
    const width = grantName("widgets", subject).length;
    assert.equal(
      withoutAges(pending),
      golden(
        `${"PENDING".padEnd(width)}   EXPORT    IDENTITY               AGE`,
        `${grantName("widgets", subject)}   widgets   jane.doe@example.com   <age>`,
      ),
    );
  });

  const bundle = await okJson<{ bundle: ReturnType<typeof objectsIn> }>(
    await gateway.request(bound.pickupURL, { headers: { Accept: "application/json" } }),
  );
  using konnector = await TestKonnector.start(bundle.bundle, CLUSTER);
  await konnector.beat();
  await konnector.sync(customType(WIDGETS), "team", "first");
  await konnector.sync(customType(WIDGETS), "team", "second");
  await eventually("both objects are counted", async () => {
    const { clusters } = await read<Clusters>("/api/clusters");
    return clusters[0]?.bindings[0]?.apis[0]?.syncedCount === 2;
  });

  await t.step("clusters shows live clusters, bound Exports and synced objects", async () => {
    assert.equal(
      withoutAges(await user.output(["clusters"])),
      golden(
        `CLUSTER${" ".repeat(32)}LIVE   HEARTBEAT   EXPORT    IDENTITY               ` +
          "SYNCED   PROBLEMS",
        `${CLUSTER}   yes    <age>       widgets   jane.doe@example.com   2        ?`,
      ),
    );
    const wide = await user.output(["clusters", "-o", "wide", "--no-headers"]);
    assert.deepEqual(wide.trim().split(/ {3,}/).slice(7), [
      grantName("widgets", subject),
      boundaryName(subject),
      CLUSTER,
      "?",
      "<none>",
      `${WIDGETS}=2`,
    ]);
    assert.equal(await user.output(["clusters", "-o", "name"]), `cluster/${CLUSTER}\n`);
    const json = JSON.parse(await user.output(["clusters", "-o", "json"]));
    assert.deepEqual(json, await read("/api/clusters"));
  });

  await t.step(
    "instances shows the objects of one Export or of all Exports, each once",
    async () => {
      const one = [
        "API                   NAMESPACE   NAME     IDENTITY               AGE",
        "widgets.example.org   team        first    jane.doe@example.com   <age>",
        "widgets.example.org   team        second   jane.doe@example.com   <age>",
      ];
      for (const name of ["widgets", "export.catalog.xbind.io/widgets"]) {
        assert.equal(withoutAges(await user.output(["instances", name])), golden(...one));
      }
      const all = await user.output(["instances", "--no-headers"]);
      assert.deepEqual(
        all.trim().split("\n").map((line) => line.split(/ {3,}/).slice(0, 4).join(" ")),
        [
          "widgets widgets.example.org team first",
          "widgets widgets.example.org team second",
        ],
      );
      assert.match(await user.output(["instances", "widgets", "-o", "wide"]), new RegExp(CLUSTER));
      const said = await read<Instances>("/api/catalog/widgets/instances");
      assert.deepEqual(JSON.parse(await user.output(["instances", "widgets", "-ojson"])), said);
      const names = golden("widgets.example.org/first", "widgets.example.org/second");
      assert.equal(await user.output(["instances", "widgets", "-o", "name"]), names);
    },
  );

  await t.step("clusters and instances show what the konnector tells", async () => {
    const problem = {
      api: WIDGETS,
      namespace: "team",
      name: "third",
      reason: "Rejected",
      message: "size is \u001b[31mtoo large",
    };
    await konnector.tell({
      [ANNOTATIONS.clusterName]: "prod-eu",
      [ANNOTATIONS.konnectorVersion]: "1.2.3",
      [ANNOTATIONS.syncSummary]: JSON.stringify({
        objects: 3,
        conflicts: 0,
        rejected: 1,
        problems: [problem],
      }),
    });
    await eventually("the name is known", async () => {
      return (await read<Clusters>("/api/clusters")).clusters[0]?.name === "prod-eu";
    });
    assert.equal(
      withoutAges(await user.output(["clusters"])),
      golden(
        "CLUSTER   LIVE   HEARTBEAT   EXPORT    IDENTITY               SYNCED   PROBLEMS",
        "prod-eu   yes    <age>       widgets   jane.doe@example.com   2        1 rejected",
      ),
    );
    const wide = await user.output(["clusters", "-o", "wide", "--no-headers"]);
    assert.deepEqual(wide.trim().split(/ {3,}/).slice(9, 12), [CLUSTER, "3", "1.2.3"]);
    assert.equal(await user.output(["clusters", "-o", "name"]), `cluster/${CLUSTER}\n`);
    const instances = await user.output(["instances", "widgets"]);
    const row = "widgets.example.org   team        third   prod-eu   jane.doe@example.com   " +
      "Rejected   size is [31mtoo large\n";
    assert.ok(instances.endsWith(row), instances);
    assert.match(instances, /^NOT SYNCED +NAMESPACE +NAME +CLUSTER +IDENTITY +REASON +MESSAGE$/m);
    const all = await user.output(["instances", "-o", "wide"]);
    assert.match(all, new RegExp(`first +<none> +prod-eu +jane.doe@example.com +\\w+ +${CLUSTER}`));
  });

  await t.step("instances suggests the right name for an unknown Export", async () => {
    const { code, stdout, stderr } = await user.run(["instances", "wigdets"]);
    assert.deepEqual({ code, stdout }, { code: 4, stdout: "" });
    assert.match(
      stderr,
      /^error: Cannot list the objects of Export "wigdets" at .*: there is no such Export\nDid you mean "widgets"\?/,
    );
  });

  await t.step("no list prints a control character that the provider wrote", async () => {
    const lists = [["catalog"], ["catalog", "-owide"], ["instances"], ["catalog", "-ojson"], [
      "catalog",
      "-oyaml",
    ]];
    for (const args of lists) {
      const text = await user.output(args);
      assert.doesNotMatch(text, /[^\P{Cc}\n]|[\u202a-\u202e]/u, args.join(" "));
    }
  });

  await t.step("XBIND_SERVER and XBIND_TOKEN work without a login and without HOME", async () => {
    await using other = await CliUser.create();
    const env = { XBIND_SERVER: gateway.url, XBIND_TOKEN: token, HOME: "" };
    assert.match(await other.output(["catalog"], { env }), /^widgets /m);
    const wrong = await other.run(["catalog"], { env: { ...env, XBIND_TOKEN: "wrong" } });
    assert.equal(wrong.code, 3);
    assert.match(wrong.stderr, /XBIND_TOKEN/);
  });

  await t.step("version prints the version of the client and of the server", async () => {
    const text = await user.output(["version"]);
    assert.match(text, /^Client: \S+\nServer: \S+ \(xbind at http:\/\/127\.0\.0\.1:\d+\)\n$/);
    assert.match(await user.output(["version", "--client"]), /^Client: \S+\n$/);
  });
});

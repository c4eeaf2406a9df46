import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CLUSTER_BINDINGS,
  CONFIG_MAPS,
  CONNECTIONS,
  CRDS,
  type KubeObject,
  NAMESPACES,
  SECRETS,
} from "../../../common/api/resources.ts";
import type { Catalog, Clusters, Identity, Instances } from "../../../common/api/wire.ts";
import { ANNOTATIONS, boundaryName, grantName } from "../../../common/api/names.ts";
import { ownPlane, sharedConsumer } from "../../support/planes/control_planes.ts";
import { cookiePair, failure, Gateway, okJson } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { allowedVerbs } from "../../support/planes/issued_rights.ts";
import { customType, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { connect } from "../../support/planes/kube.ts";
import { objectsIn, TestKonnector } from "../../support/worlds/test_konnector.ts";

const consumerPlane = await sharedConsumer();
const SEVEN = ["get", "list", "watch", "create", "update", "patch", "delete"];

Deno.test("a consumer logs in, binds, picks up, installs and is seen by its provider", async (t) => {
  await using plane = await ownPlane();
  await using gateway = await Gateway.start(plane);
  using provider = await TestProvider.of(plane);
  using consumer = await connect(consumerPlane);
  await provider.define(WIDGETS);
  await provider.makeNamespace("team");
  await provider.offer("broken", ["absent.example.org"]);
  await provider.offerReady("widgets", [WIDGETS], {
    title: "Widgets",
    description: "All sizes",
    icon: { url: "https://example.org/icon.svg" },
    docs: "https://example.org/docs",
    defaults: {
      relatedResources: [{
        resource: "configmaps",
        direction: "FromConsumer",
        selector: { names: ["settings"] },
      }],
    },
  });
  const { metadata: { uid: consumerUid = "" } } = await consumer.kube.get(NAMESPACES, {
    name: "kube-system",
  });

  const { token, cookies } = await gateway.login();
  const { subject } = await gateway.read<Identity>(token, "/api/me");
  const grant = grantName("widgets", subject);
  const boundary = boundaryName(subject);
  const clusters = () => gateway.read<Clusters>(token, "/api/clusters");
  const instances = async () =>
    (await gateway.read<Instances>(token, "/api/catalog/widgets/instances")).instances;
  let bundle: KubeObject[] = [];

  await t.step("a session works as a bearer token and as a cookie", async () => {
    const session = cookies.find((cookie) => cookie.startsWith("xbind_session=")) ?? "";
    const me = await gateway.request("/api/me", { headers: { Cookie: cookiePair(session) } });
    assert.deepEqual(await okJson(me), { subject, displayName: "jane.doe@example.com" });
    assert.match(subject, /^http:\/\/127\.0\.0\.1:\d+\/oidc#jane\.doe@example\.com$/);
  });

  await t.step("the catalog shows only Ready Exports", async () => {
    const catalog = await eventually("the catalog has the Export", async () => {
      const answer = await gateway.read<Catalog>(token, "/api/catalog");
      return answer.exports.length > 0 && answer;
    });
    assert.deepEqual(catalog, {
      exports: [{
        name: "widgets",
        title: "Widgets",
        description: "All sizes",
        apis: [WIDGETS],
        iconURL: "https://example.org/icon.svg",
        docs: "https://example.org/docs",
        relatedResources: [{
          resource: "configmaps",
          direction: "FromConsumer",
          selector: "names: settings",
        }],
      }],
    });
  });

  await t.step("inventory responses can be revalidated", async () => {
    const paths = ["/api/catalog", "/api/clusters", "/api/catalog/widgets/instances"];
    for (const path of paths) {
      const first = await gateway.as(token, path);
      await first.body?.cancel();
      const etag = first.headers.get("ETag") ?? "";
      assert.match(etag, /^"[^"]+"$/);
      assert.equal(first.headers.get("Cache-Control"), "private, no-cache");
      assert.equal(first.headers.get("Vary"), "Cookie, Authorization, Accept-Encoding");
      for (const known of [etag, `"other", W/${etag}`]) {
        const again = await gateway.as(token, path, { headers: { "If-None-Match": known } });
        assert.equal(again.status, 304);
        assert.equal(await again.text(), "");
        assert.equal(again.headers.get("ETag"), etag);
      }
      const changed = await gateway.as(token, path, { headers: { "If-None-Match": '"x"' } });
      await okJson(changed);
    }
  });

  await t.step("a bind returns a URL that delivers the bundle once, as YAML", async () => {
    const bound = await gateway.bind(token, "widgets");
    assert.deepEqual(Object.keys(bound).sort(), ["expiresAt", "grant", "pickupURL"]);
    assert.equal(bound.grant, grant);
    const pickup = await gateway.request(bound.pickupURL);
    assert.equal(pickup.status, 200);
    assert.equal(pickup.headers.get("Content-Type"), "application/yaml");
    assert.equal(
      pickup.headers.get("Content-Disposition"),
      `attachment; filename="${grant}.yaml"`,
    );
    assert.equal(pickup.headers.get("Cache-Control"), "no-store");
    bundle = objectsIn(await pickup.text());
    assert.deepEqual(
      bundle.map(({ kind, metadata }) => `${kind}/${metadata.name}`),
      [`Secret/${grant}`, `Connection/${grant}`, `ClusterBinding/${grant}`],
    );
    await failure(await gateway.request(bound.pickupURL), 410);
  });

  await t.step("a second bind ends the first URL, and a pickup can be JSON", async () => {
    const unused = await gateway.bind(token, "widgets");
    const bound = await gateway.bind(token, "widgets");
    assert.equal(bound.grant, grant);
    await failure(await gateway.request(unused.pickupURL), 410);
    const accept = { headers: { Accept: "text/html, application/json;q=0.9" } };
    const pickup = await okJson<{ bundle: KubeObject[] }>(
      await gateway.request(bound.pickupURL, accept),
    );
    assert.deepEqual(pickup, { bundle });
    await failure(await gateway.request(bound.pickupURL, accept), 410);
  });

  await t.step("the Grant is pending until a konnector reports", async () => {
    const { clusters: rows, pending = [] } = await eventually("the Grant is pending", async () => {
      const answer = await clusters();
      return answer.pending && answer;
    });
    assert.deepEqual(rows, []);
    assert.deepEqual(pending.map(({ createdAt: _, ...rest }) => rest), [
      { grant, export: "widgets", identity: "jane.doe@example.com" },
    ]);
  });

  await t.step("the konnector and the bundle pass the consumer's strict validation", async () => {
    const manifest = await (await gateway.request("/api/konnector")).text();
    const apply = async (stdin: string) => {
      const flags = ["--server-side", "--force-conflicts", "--validate=strict"];
      const { code, stderr } = await consumerPlane.kubectl(["apply", ...flags, "-f", "-"], {
        stdin,
      });
      assert.equal(code, 0, stderr);
    };
    await apply(manifest);
    await apply(manifest);
    await eventually("the CRDs are served", async () => {
      await consumer.kube.list(CLUSTER_BINDINGS);
      return await consumer.kube.list(CONNECTIONS);
    });
    await apply(bundle.map((object) => JSON.stringify(object)).join("\n---\n"));
    const secret = await consumer.kube.get(SECRETS, { name: grant, namespace: "xbind" });
    assert.deepEqual(Object.keys(secret.data ?? {}), ["kubeconfig"]);
    const binding = await consumer.kube.get(CLUSTER_BINDINGS, { name: grant });
    assert.deepEqual(binding.spec.connectionRef, { name: grant });
    assert.equal(binding.spec.relatedResources?.[0]?.direction, "FromConsumer");
  });

  using konnector = await TestKonnector.start(bundle, consumerUid);
  const widgets = customType(WIDGETS);

  await t.step("the issued kubeconfig has only the rights of the Export", async () => {
    const { kube } = konnector;
    assert.equal(konnector.boundary, boundary);
    const may = (resource: string, more = {}) => allowedVerbs(kube, { resource, ...more });
    assert.deepEqual(await may("widgets", { group: "example.org" }), SEVEN);
    assert.deepEqual(await may("widgets/status", { group: "example.org" }), SEVEN);
    assert.deepEqual(await may("configmaps"), SEVEN);
    assert.deepEqual(await may("namespaces"), ["get", "list", "watch", "create"]);
    assert.deepEqual(await may("secrets"), []);
    assert.deepEqual(await may("grants", { group: "iam.xbind.io" }), []);
    assert.deepEqual(
      await may("leases", { group: "coordination.k8s.io", namespace: boundary }),
      SEVEN,
    );
    assert.deepEqual(
      await may("leases", { group: "coordination.k8s.io", namespace: "kube-system" }),
      [],
    );
    assert.ok((await kube.list(CRDS)).some(({ metadata }) => metadata.name === WIDGETS));
  });

  await t.step("clusters and instances show the objects that the konnector writes", async () => {
    await konnector.beat();
    await konnector.sync(widgets, "team", "small");
    await konnector.sync(widgets, "team", "large");
    const related = { [ANNOTATIONS.relatedBinding]: crypto.randomUUID() };
    await konnector.sync(CONFIG_MAPS, "team", "settings", related, { data: { secret: "marker" } });
    await konnector.sync(CONFIG_MAPS, "team", "other", related);
    const [cluster] = await eventually("the objects are counted", async () => {
      const { clusters: rows, pending } = await clusters();
      return !pending && rows[0]?.bindings[0]?.apis[0]?.syncedCount === 2 && rows;
    });
    assert.ok(cluster);
    const { lastHeartbeat, bindings, ...rest } = cluster;
    assert.deepEqual(rest, { uid: consumerUid, live: true });
    assert.deepEqual(bindings, [{
      grant,
      export: "widgets",
      identity: "jane.doe@example.com",
      subject,
      boundaryNamespace: boundary,
      lastHeartbeat,
      live: true,
      apis: [{ name: WIDGETS, syncedCount: 2 }],
    }]);
    const rows = await eventually("the related rows are listed", async () => {
      const found = await instances();
      return found.length === 3 && found;
    });
    const origin = { clusterUID: consumerUid, identity: "jane.doe@example.com" };
    assert.deepEqual(rows.map(({ createdAt: _, ...row }) => row), [
      { api: WIDGETS, namespace: "team", name: "large", ...origin },
      { api: WIDGETS, namespace: "team", name: "small", ...origin },
      {
        api: "configmaps",
        related: true,
        direction: "FromConsumer",
        namespace: "team",
        name: "settings",
        ...origin,
      },
    ]);
    assert.ok(!JSON.stringify(rows).includes("marker"));
  });

  await t.step("instances can be read of an Export that is not Ready", async () => {
    const path = "/api/catalog/broken/instances";
    assert.deepEqual(await gateway.read(token, path), { export: "broken", instances: [] });
    await failure(await gateway.as(token, "/api/catalog/absent/instances"), 404);
  });

  await t.step("a cluster is live for twice the duration of its Lease", async () => {
    await konnector.beat(3);
    const before = await gateway.as(token, "/api/clusters");
    const tag = before.headers.get("ETag") ?? "";
    await before.body?.cancel();
    await eventually("the cluster is not live", async () => {
      const [cluster] = (await clusters()).clusters;
      return cluster?.live === false && cluster.bindings[0]?.live === false;
    });
    const after = await gateway.as(token, "/api/clusters", { headers: { "If-None-Match": tag } });
    await okJson(after);
    await konnector.beat(60);
    await eventually("the cluster is live again", async () => (await clusters()).clusters[0]?.live);
  });

  await t.step("the log holds no session and no credential", () => {
    const log = gateway.backend.lines.join("\n");
    const [secret] = bundle as { stringData?: Record<string, string> }[];
    const [, credential = "?"] = /token: (\S+)/.exec(secret?.stringData?.["kubeconfig"] ?? "") ??
      [];
    for (const hidden of [token, credential]) assert.ok(!log.includes(hidden));
    const outcomes = gateway.backend.log.filter(({ code }) => code === "pickup")
      .map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, ["ok", "reused", "unknown", "ok", "reused"]);
  });

  for (const type of [CLUSTER_BINDINGS, CONNECTIONS]) {
    await consumer.kube.delete(type, { name: grant });
  }
  await consumer.kube.delete(SECRETS, { name: grant, namespace: "xbind" });
});

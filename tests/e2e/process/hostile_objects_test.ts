import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CLUSTER_ROLES, CRDS, GRANTS, isReady, LEASES } from "../../../common/api/resources.ts";
import type { Catalog, Clusters, Instances } from "../../../common/api/wire.ts";
import { ANNOTATIONS, FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { Gateway, okJson } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { customType, grantFor, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { TestKonnector } from "../../support/worlds/test_konnector.ts";
import { ESCAPES, type Poison, POISONED_KINDS } from "../../testdata/poison_objects.ts";

// Started outside the tests: Deno would report it as a leak of the test that starts it.
const plane = await ownPlane();
Deno.test.afterAll(() => plane[Symbol.asyncDispose]());

const ISSUED = { labelSelector: LABELS.grant };
const FLAGS = ["--enable-reaper", "--reaper-interval=1s", "--reaper-ttl=1h"];

/** Removes the schema of one of our kinds, as in a cluster with an old CRD. */
async function loosen({ kube }: TestProvider, crd: string): Promise<void> {
  const { spec, metadata: { resourceVersion = "" } } = await kube.get(CRDS, { name: crd });
  const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const versions = spec.versions.map((version) => ({ ...version, schema: { openAPIV3Schema } }));
  const patch = { spec: { versions }, metadata: { resourceVersion } };
  await kube.mergePatch(CRDS, { name: crd }, patch, FIELD_MANAGERS.installer);
}

async function poison(
  { kube }: TestProvider,
  { plural, apiVersion, kind, poisons }: (typeof POISONED_KINDS)[number],
): Promise<void> {
  const path = `/apis/${apiVersion}/${plural}`;
  for (const [index, { what, spec, status, annotations }] of (poisons as Poison[]).entries()) {
    const name = `poison-${index}`;
    const metadata = { name, annotations: { ...annotations, "example.org/what": what } };
    const object = { apiVersion, kind, metadata, spec };
    await eventually(`${kind} "${what}" is created`, () => kube.request("POST", path, object));
    if (status === undefined) continue;
    const answer = await kube.transport.send({
      method: "PATCH",
      path: `${path}/${name}/status`,
      headers: { "Content-Type": "application/merge-patch+json" },
      body: JSON.stringify({ status }),
      timeoutMs: 10_000,
      attempt: `Cannot poison ${kind} "${what}"`,
    });
    assert.equal(answer.status, 200, answer.text);
  }
}

/** Reads all views of the gateway, and fails if it cannot serve one. */
async function shown(gateway: Gateway, token: string) {
  const instances = `/api/catalog/widgets/instances`;
  return {
    catalog: await gateway.read<Catalog>(token, "/api/catalog"),
    clusters: await gateway.read<Clusters>(token, "/api/clusters"),
    instances: await gateway.read<Instances>(token, instances),
  };
}

/** Asserts that good objects are shown and served among the bad ones. */
async function assertWorks(gateway: Gateway, provider: TestProvider, who: string): Promise<void> {
  const { token } = await gateway.login();
  // Once these objects are seen, all earlier objects have been seen, too.
  await provider.offerReady(`new-${who}`, [WIDGETS]);
  const { metadata } = await provider.kube.create(
    GRANTS,
    grantFor({ who }),
    FIELD_MANAGERS.gateway,
  );
  await eventually(
    "the issuer still works",
    async () => isReady(await provider.kube.get(GRANTS, metadata)),
  );
  const { catalog, clusters, instances } = await eventually("the new ones are shown", async () => {
    const all = await shown(gateway, token);
    const isPending = all.clusters.pending?.some(({ grant }) => grant === metadata.name);
    return all.catalog.exports.some(({ name }) => name === `new-${who}`) && isPending && all;
  });
  const names = catalog.exports.map(({ name }) => name);
  assert.ok(names.includes("widgets"));
  assert.ok(catalog.exports.some(({ title }) => title === ESCAPES));
  assert.ok(catalog.collections?.some(({ name }) => name === "good"));
  for (const entry of catalog.exports) {
    assert.equal(typeof entry.title, "string");
    assert.ok(entry.apis.every((api) => typeof api === "string"));
  }
  for (const row of clusters.pending ?? []) {
    assert.equal(typeof row.export, "string");
    assert.equal(typeof (row.identity ?? ""), "string");
  }
  for (const { metadata, rules = [] } of await provider.kube.list(CLUSTER_ROLES, ISSUED)) {
    for (const { apiGroups = [], resources = [], verbs } of rules) {
      assert.ok(![...apiGroups, ...resources, ...verbs].includes("*"), metadata.name);
      assert.ok(!resources.includes("pods"), metadata.name);
    }
  }
  assert.ok(clusters.clusters.some(({ uid, live }) => uid === "good-cluster" && live));
  assert.ok(instances.instances.some(({ name }) => name === "synced"));
  await gateway.bind(token, "widgets");
  const { log } = gateway.backend;
  assert.deepEqual(log.filter(({ msg }) => msg === "a failure was not handled"), []);
  assert.deepEqual(log.filter(({ msg }) => msg === "a request failed unexpectedly"), []);
}

Deno.test("xbind-backend keeps listing and reconciling beside", async (t) => {
  using provider = await TestProvider.of(plane);
  {
    await using gateway = await Gateway.start(plane, { flags: FLAGS });
    await provider.define(WIDGETS);
    await provider.offerReady("widgets", [WIDGETS]);
    await provider.offerReady("escapes", [WIDGETS], { title: ESCAPES, description: ESCAPES });
    await provider.kube.request("POST", "/apis/catalog.xbind.io/v1alpha1/collections", {
      apiVersion: "catalog.xbind.io/v1alpha1",
      kind: "Collection",
      metadata: { name: "good" },
      spec: { title: "Good", exports: [{ name: "widgets" }] },
    });
    const { token } = await gateway.login();
    const { pickupURL } = await gateway.bind(token, "widgets");
    const headers = { Accept: "application/json" };
    const { bundle } = await okJson<{ bundle: Parameters<typeof TestKonnector.start>[0] }>(
      await gateway.request(pickupURL, { headers }),
    );
    using konnector = await TestKonnector.start(bundle, "good-cluster");
    await konnector.beat(600);
    await konnector.sync(customType(WIDGETS), "default", "synced");

    await t.step("Leases and synced objects of a hostile konnector", async () => {
      const grant = bundle[0]?.metadata.name ?? "";
      await writeAbsurdLeases(konnector, grant);
      await konnector.sync(customType(WIDGETS), "default", "huge", {
        [ANNOTATIONS.consumerClusterUid]: ESCAPES,
        "example.org/huge": "x".repeat(250_000),
      });
      const { clusters } = await eventually("both instances are shown", async () => {
        const all = await shown(gateway, token);
        return all.instances.instances.length === 2 && all;
      });
      assert.ok(clusters.clusters.some(({ uid }) => uid === "good-cluster"));
      for (const { lastHeartbeat } of clusters.clusters) {
        assert.ok(Date.parse(lastHeartbeat) <= Date.now(), lastHeartbeat);
      }
    });

    await t.step("malformed objects that are created while it runs", async () => {
      for (const kind of POISONED_KINDS) {
        await loosen(provider, `${kind.plural}.${kind.apiVersion.split("/")[0]}`);
        await poison(provider, kind);
      }
      await assertWorks(gateway, provider, "later");
    });
  }

  await t.step("malformed objects that exist when it starts", async () => {
    const flags = [...FLAGS, "--install-crds=false"];
    await using gateway = await Gateway.start(plane, { flags });
    await assertWorks(gateway, provider, "again");
    assert.equal(await gateway.backend.stop(), 0);
  });
});

/** Writes absurd heartbeats that the API server accepts. */
async function writeAbsurdLeases(konnector: TestKonnector, grant: string): Promise<void> {
  const absurd: [name: string, uid: string, spec: object, annotations?: object][] = [
    ["far-future", "far-future", { renewTime: "9999-12-31T23:59:59.999999Z" }],
    ["far-past", "far-past", { renewTime: "0001-01-01T00:00:00.000000Z" }],
    ["no-time", "no-time", {}],
    ["for-ever", "for-ever", { renewTime: now(), leaseDurationSeconds: 2_147_483_647 }],
    ["long-uid", "u".repeat(100_000), { renewTime: now(), leaseDurationSeconds: 1 }],
    ["escapes", ESCAPES, { renewTime: now(), holderIdentity: ESCAPES }],
    ["huge", "huge", { renewTime: now() }, { "example.org/huge": "x".repeat(250_000) }],
    ["prototype", "__proto__", { renewTime: now() }],
    ["constructor", "constructor", { renewTime: now() }],
  ];
  for (const [name, uid, spec, annotations = {}] of absurd) {
    await konnector.kube.create(LEASES, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        name,
        namespace: konnector.boundary,
        labels: { [LABELS.managed]: "true" },
        annotations: {
          [ANNOTATIONS.connection]: grant,
          [ANNOTATIONS.consumerClusterUid]: uid,
          ...annotations,
        },
      },
      spec,
    }, FIELD_MANAGERS.cli);
  }
}

const now = () => new Date().toISOString().replace("Z", "000Z");

import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { EVENTS, type Grant, GRANTS, LEASES } from "../../../common/api/resources.ts";
import type { Clusters } from "../../../common/api/wire.ts";
import { heartbeatCache } from "../../../server/provider/heartbeats.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { ANNOTATIONS, boundaryName, FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { Gateway } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { connect, running } from "../../support/planes/kube.ts";

const WRITERS = 24;
/** More heartbeats than the cache holds for one boundary. */
const FLOOD = 4_100;

/** Writes this many heartbeats of invented clusters into the boundary of a Grant. */
async function flood(kube: KubeClient, grant: Grant, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, i) => i).values();
  const write = async () => {
    for (const number of numbers) await beat(kube, grant, `cluster-${number}`);
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
}

async function beat(kube: KubeClient, grant: Grant, uid: string): Promise<void> {
  await kube.create(LEASES, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      name: uid,
      namespace: boundaryName(grant.spec.identity.subject),
      labels: { [LABELS.managed]: "true" },
      annotations: {
        [ANNOTATIONS.connection]: grant.metadata.name,
        [ANNOTATIONS.consumerClusterUid]: uid,
      },
    },
    spec: { renewTime: new Date().toISOString().replace("Z", "000Z") },
  }, FIELD_MANAGERS.cli);
}

Deno.test("a flood of heartbeats is truncated and reported, and hides no other cluster", async (t) => {
  await using plane = await ownPlane();
  await using gateway = await Gateway.start(plane);
  using provider = await TestProvider.of(plane);
  using admin = await connect(plane);
  await provider.define("widgets.example.org");
  await provider.offerReady("widgets", ["widgets.example.org"]);
  await provider.offerReady("gadgets", ["widgets.example.org"]);
  const { token } = await gateway.login();
  const bound = async (name: string) =>
    await admin.kube.get(GRANTS, { name: (await gateway.bind(token, name)).grant });
  const [grant, neighbour] = [await bound("widgets"), await bound("gadgets")];
  const boundaryNamespace = boundaryName(grant.spec.identity.subject);
  const clusters = () => gateway.read<Clusters>(token, "/api/clusters");
  await beat(admin.kube, neighbour, "honest");
  await flood(admin.kube, grant, FLOOD);

  await t.step("GET /api/clusters says that the list is truncated", async () => {
    const answer = await eventually("it says so", async () => {
      const found = await clusters();
      return found.truncated?.[0]?.leases === FLOOD + 1 && found;
    });
    assert.deepEqual(answer.truncated, [{ boundaryNamespace, leases: FLOOD + 1 }]);
    assert.ok(answer.clusters.length < FLOOD, `${answer.clusters.length} shown`);
    assert.ok(answer.clusters.some(({ uid }) => uid === "honest"), "the honest cluster is missing");
  });
  await t.step("an Event on the Grant reports it", async () => {
    await eventually("the Event is written", async () => {
      const events = await admin.kube.list(EVENTS, { namespace: "default" });
      return events.some(({ reason, regarding }) =>
        reason === "TooManyHeartbeats" && regarding?.name === grant.metadata.name
      );
    });
  });
  await t.step("a new cache has the same limits", async () => {
    const limits = { most: 100, kept: 50, keptOfConnection: 40 };
    const cache = heartbeatCache({}, limits);
    await using _ = await running(cache, admin.kube);
    await cache.whenSynced();
    assert.deepEqual(cache.crowded, [{ namespace: boundaryNamespace, total: FLOOD + 1 }]);
    assert.ok(cache.size <= limits.most, `${cache.size} held`);
    assert.ok(cache.get({ namespace: boundaryNamespace, name: "honest" }), "the newest is missing");
    const [dropped] = Array.from({ length: FLOOD }, (_, i) => `cluster-${i}`)
      .filter((name) => !cache.get({ namespace: boundaryNamespace, name }));
    const key = { namespace: boundaryNamespace, name: dropped ?? assert.fail("all are held") };
    const { metadata: { resourceVersion = "" } } = await admin.kube.get(LEASES, key);
    const renewTime = new Date().toISOString().replace("Z", "000Z");
    const renewal = { metadata: { resourceVersion }, spec: { renewTime } };
    await admin.kube.mergePatch(LEASES, key, renewal, FIELD_MANAGERS.cli);
    await eventually("it holds a renewed Lease again", () => cache.get(key));
    assert.equal(cache.crowded[0]?.total, FLOOD + 1);
    await admin.kube.delete(LEASES, key);
    await eventually("a deleted Lease is not counted", () => cache.crowded[0]?.total === FLOOD);
  });
  await t.step("the Grant can be deleted and bound again", async () => {
    await admin.kube.delete(GRANTS, { name: grant.metadata.name });
    const again = await bound("widgets");
    assert.notEqual(again.metadata.uid, grant.metadata.uid);
  });
});

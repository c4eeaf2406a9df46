import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CRDS, EXPORTS, type Grant, GRANTS, isReady } from "../../../common/api/resources.ts";
import type { Catalog, Clusters, Identity } from "../../../common/api/wire.ts";
import { FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import { ownPlane } from "../../support/planes/control_planes.ts";
import { GatewayBehindProxy } from "../../support/worlds/gateway_behind_proxy.ts";
import { failure, Gateway } from "../../support/worlds/gateway_world.ts";
import { TestProvider } from "../../support/worlds/provider.ts";
import { HeldWatches } from "../../support/planes/held_watches.ts";
import { customType, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { sealedSessions, sealedSubject } from "../../support/planes/sealed_sessions.ts";
import { objectsIn, TestKonnector } from "../../support/worlds/test_konnector.ts";

const PEOPLE = 40;
const ROUNDS = 5;
const NAMES = ["ada", "bob", "eve"];

const isOf = (who: string) => ({ spec }: Grant): boolean =>
  spec.identity.subject === sealedSubject(who);

Deno.test("the gateway's caches mix up no identities, and cause no stale bind", async (t) => {
  await using plane = await ownPlane();
  const { env, seal } = await sealedSessions();
  await using _issuing = await Gateway.start(plane, { env });
  using provider = await TestProvider.of(plane);
  const { kube } = provider;
  const grantOf = async (who: string) => (await kube.list(GRANTS)).find(isOf(who))?.metadata.name;
  const mayExport = async (value: string | null) => {
    const { metadata: { resourceVersion = "" } } = await kube.get(CRDS, { name: WIDGETS });
    const patch = { metadata: { resourceVersion, labels: { [LABELS.exported]: value } } };
    await kube.mergePatch(CRDS, { name: WIDGETS }, patch, FIELD_MANAGERS.installer);
  };
  await provider.define(WIDGETS);
  await provider.offerReady("widgets", [WIDGETS]);
  const watches = new HeldWatches();
  const options = { env, flags: ["--enable-issuer=false"] };
  await using site = await GatewayBehindProxy.start(plane, "blind-gateway", options);
  site.proxy.faults = (arrival) => watches.fault(arrival);
  await site.kill();
  await site.succeed(); // the new process opens watches that can be held
  const { gateway } = site;
  const catalog = async () =>
    (await gateway.read<Catalog>(await seal("reader"), "/api/catalog")).exports
      .map(({ name }) => name);
  const grantsShown = async () => {
    const { pending = [] } = await gateway.read<Clusters>(await seal("reader"), "/api/clusters");
    return pending.map(({ grant }) => grant);
  };
  await eventually("the catalog has the Export", async () => (await catalog()).includes("widgets"));

  await t.step("every caller gets an answer for its own identity, also in parallel", async () => {
    const asked = Array.from({ length: PEOPLE * ROUNDS }, async (_, index) => {
      const who = `person-${index % PEOPLE}`;
      const { subject } = await gateway.read<Identity>(await seal(who), "/api/me");
      assert.equal(subject, sealedSubject(who));
    });
    await Promise.all(asked);
    await Promise.all(NAMES.map(async (who) => {
      const { pickupURL } = await gateway.bind(await seal(who), "widgets");
      const bundle = await (await gateway.request(pickupURL)).text();
      for (const name of NAMES) {
        const grant = await grantOf(name) ?? assert.fail(`${name} has no Grant`);
        assert.equal(bundle.includes(grant), name === who, `${who} got the Grant of ${name}`);
      }
    }));
  });

  await t.step("a bind is refused if the Export is Ready only in the cache", async () => {
    watches.hold();
    await mayExport(null);
    await eventually("the issuer has marked the Export as not Ready", async () => {
      return !isReady(await kube.get(EXPORTS, { name: "widgets" }));
    });
    assert.deepEqual(await catalog(), ["widgets"], "the gateway's view is not stale");
    await failure(await gateway.tryBind(await seal("late"), "widgets"), 502, /it is not Ready$/);
    assert.equal(await grantOf("late"), undefined);
    watches.release();
    await mayExport("true");
    await eventually("the Export is Ready again", async () => {
      return isReady(await kube.get(EXPORTS, { name: "widgets" }));
    });
  });

  await t.step("a pickup is 410 if the Grant exists only in the cache", async () => {
    const token = await seal("revoked");
    const { grant, pickupURL } = await gateway.bind(token, "widgets");
    await eventually("the Grant is shown", async () => (await grantsShown()).includes(grant));
    const { metadata: { uid } } = await kube.get(GRANTS, { name: grant });
    watches.hold();
    await kube.delete(GRANTS, { name: grant });
    await eventually("the Grant is revoked", async () => !await kube.find(GRANTS, { name: grant }));
    assert.ok((await grantsShown()).includes(grant), "the gateway's view is not stale");
    await failure(await gateway.request(pickupURL), 410);

    const again = gateway.bind(token, "widgets");
    await eventually("a new Grant is Ready", async () => {
      const made = await kube.find(GRANTS, { name: grant });
      return made !== undefined && made.metadata.uid !== uid && isReady(made);
    });
    watches.release();
    // The held events arrive with the next event.
    const { metadata: { resourceVersion = "" } } = await kube.get(GRANTS, { name: grant });
    const touch = { metadata: { resourceVersion, annotations: { "example.org/touched": "1" } } };
    await kube.mergePatch(GRANTS, { name: grant }, touch, FIELD_MANAGERS.cli);
    const bundle = objectsIn(await (await gateway.request((await again).pickupURL)).text());
    using konnector = await TestKonnector.start(bundle, "consumer");
    await konnector.kube.list(customType(WIDGETS));
  });
});

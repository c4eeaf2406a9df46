import assert from "node:assert/strict";
import { join } from "node:path";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  EXPORTS,
  type Grant,
  GRANTS,
  isDeleting,
  isReady,
  type Secret,
} from "../../../common/api/resources.ts";
import { type BindDeps, bindExport, boundGrant } from "../../../server/bind/bind.ts";
import { assembleBundle } from "../../../server/bind/bundle.ts";
import { grantFor } from "../../../server/bind/grant.ts";
import { Slots } from "../../../common/time/slots.ts";
import { bindSlots } from "../../../server/bind/slots.ts";
import { Cache } from "../../../common/kube/cache.ts";
import { wholeObjects } from "../../../common/kube/follow.ts";
import { ANNOTATIONS, boundaryName, FIELD_MANAGERS, grantName } from "../../../common/api/names.ts";
import { sleep } from "../../../common/time/wait.ts";
import {
  bind,
  counting,
  hasCode,
  patchGrant,
  patience,
  pickUp,
  tokenOf,
} from "../../support/worlds/bind_steps.ts";
import { WIDGETS } from "../../support/planes/issuer_samples.ts";
import { BindWorld } from "../../support/worlds/bind_world.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { connect, running, temporaryDir, whoAmI } from "../../support/planes/kube.ts";
import { removeGrant } from "../../support/planes/remove_grant.ts";

const plane = await sharedProvider();

Deno.test("bindExport() creates a Grant, and its pickup gives a working bundle", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg", {
    defaults: {
      conflictPolicy: "Adopt",
      relatedResources: [{ resource: "secrets", direction: "FromProvider" }],
    },
  });
  const before = Date.now();
  const result = await bind(world, name);
  assert.match(result.pickupURL, /^\/api\/bundle\/[\w-]+\.[\w-]{32}$/);
  const lifetime = Date.parse(result.expiresAt) - before;
  assert.ok(lifetime >= 300_000 && lifetime < 330_000, result.expiresAt);

  const stored = await world.grant(result.grant);
  const desired = grantFor(world.identity(), await world.kube.get(EXPORTS, { name }));
  assert.deepEqual(stored.spec, desired.spec);
  assert.deepEqual(stored.metadata.finalizers, ["iam.xbind.io/cleanup"], "no finalizer");
  const annotations = stored.metadata.annotations ?? {};
  assert.equal(annotations[ANNOTATIONS.pickupExpiry], result.expiresAt);
  assert.ok(Date.parse(annotations[ANNOTATIONS.boundAt] ?? "") >= before);
  assert.ok(!JSON.stringify(stored).includes(tokenOf(result).split(".")[1] ?? "?"));

  const grant = await pickUp(world, tokenOf(result));
  assert.equal(grant.metadata.annotations?.[ANNOTATIONS.wantedUntil], undefined);
  const provider = { externalAddress: "", restHost: plane.server };
  const bundle = await assembleBundle({ kube: world.kube, provider }, grant, patience());
  assert.deepEqual(bundle.map(({ kind, metadata }) => `${kind}/${metadata.name}`), [
    `Secret/${grant.metadata.name}`,
    `Connection/${grant.metadata.name}`,
    `ClusterBinding/${grant.metadata.name}`,
  ]);
  await using dir = await temporaryDir();
  const file = join(dir.path, "kubeconfig");
  await Deno.writeTextFile(file, (bundle[0] as Secret).stringData?.["kubeconfig"] ?? "");
  using consumer = await connect(file);
  const boundary = boundaryName(world.identity().subject);
  assert.equal(
    await whoAmI(consumer.kube),
    `system:serviceaccount:${boundary}:${grant.metadata.name}`,
  );
});

Deno.test("bindExport() creates a Grant and its pickup in one write", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  using client = await counting(plane);
  const result = await bind(world, name, { kube: client.kube });
  assert.deepEqual(client.counts, { GET: 1, POST: 1 });
  await pickUp(world, tokenOf(result));
});

Deno.test("bindExport() renews the pickup after a long wait, so that it has its full TTL", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  await world.hold();
  const ttlMs = 60_000;
  using client = await counting(plane);
  const config = { pickupTtlMs: ttlMs };
  const waiting = bind(world, name, { kube: client.kube, config });
  await eventually("the Grant exists", () => [...world.grants.values()].some(isFor(name)));
  await sleep(ttlMs / 60);
  const releasedAt = Date.now();
  await world.release();
  const result = await waiting;
  assert.ok(Date.parse(result.expiresAt) >= releasedAt + ttlMs, result.expiresAt);
  assert.deepEqual(client.counts, { GET: 1, POST: 1, PATCH: 1 });
  await pickUp(world, tokenOf(result));
});

Deno.test("bindExport() renews the pickup when another bind has replaced it", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  await world.hold();
  const waiting = bind(world, name);
  const grant = await eventually("the Grant exists", () => {
    return [...world.grants.values()].find(isFor(name));
  });
  const annotations = { [ANNOTATIONS.pickupSha256]: "0".repeat(64) };
  await patchGrant(world, grant.metadata.name, { annotations });
  await world.release();
  await pickUp(world, tokenOf(await waiting));
});

Deno.test("bindExport() reuses the Grant, writes it once, and ends the earlier pickup", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  const first = await bind(world, name);
  const before = await world.grant(first.grant);
  using client = await counting(plane);
  const second = await bind(world, name, { kube: client.kube });
  assert.deepEqual(client.counts, { GET: 2, PATCH: 1 });
  const after = await world.grant(second.grant);
  assert.equal(after.metadata.uid, before.metadata.uid);
  assert.equal(after.metadata.generation, before.metadata.generation);
  await assert.rejects(pickUp(world, tokenOf(first)), hasCode("PICKUP_GONE"));
  await pickUp(world, tokenOf(second));
  await assert.rejects(pickUp(world, tokenOf(second)), hasCode("PICKUP_GONE"));
  // A new bind makes a new pickup.
  await pickUp(world, tokenOf(await bind(world, name)));
});

Deno.test("bindExport() serves 20 binds at once with one Grant, over two processes", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  const otherCache = new Cache(wholeObjects(GRANTS));
  await using _running = await running(otherCache, world.kube);
  const other = { caches: { grants: otherCache }, turns: new Slots(1) };
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, i) => bind(world, name, i % 2 ? other : {})),
  );
  assert.equal(new Set(results.map(({ grant }) => grant)).size, 1);
  const picked = await Promise.allSettled(
    results.map((result) => pickUp(world, tokenOf(result))),
  );
  assert.equal(picked.filter(({ status }) => status === "fulfilled").length, 1);
});

Deno.test("bindExport() gives each identity its own Grant", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  const [ada, bob] = await Promise.all([bind(world, name), bind(world, name, {}, "bob")]);
  assert.notEqual(ada.grant, bob.grant);
  assert.equal((await pickUp(world, tokenOf(ada))).spec.identity.displayName, "ada");
  assert.equal((await pickUp(world, tokenOf(bob))).spec.identity.displayName, "bob");
});

Deno.test("bindExport() refuses Exports that are unknown or not Ready", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  await world.setExportReady(await world.kube.get(EXPORTS, { name }), "False");
  await assert.rejects(bind(world, name), hasCode("EXPORT_NOT_READY"));
  await assert.rejects(bind(world, "no-such-export"), hasCode("EXPORT_NOT_FOUND"));
  using client = await counting(plane);
  for (
    const impossible of ["", "A", "a/b", "../grants", "a%2fb", "a b", "a".repeat(254), "\ud800"]
  ) {
    await assert.rejects(
      bind(world, impossible, { kube: client.kube }),
      hasCode("EXPORT_NOT_FOUND"),
      impossible,
    );
  }
  assert.deepEqual(client.counts, {});
});

Deno.test("bindExport() does not change a Grant of another identity", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  const desired = grantFor(world.identity(), await world.kube.get(EXPORTS, { name }));
  const foreign = await world.kube.create(GRANTS, {
    ...desired,
    spec: { ...desired.spec, identity: { subject: "somebody#else" } },
  }, FIELD_MANAGERS.installer);
  await world.hold();
  const before = await world.grant(foreign.metadata.name);
  await assert.rejects(bind(world, name), hasCode("PROVIDER_FAILED"));
  assert.deepEqual(await world.grant(foreign.metadata.name), before);
});

Deno.test("bindExport() waits for the rights of a changed Export", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg", {
    apis: [{ name: WIDGETS }, { name: "gadgets.example.org" }],
    defaults: {
      conflictPolicy: "Adopt",
      relatedResources: [{ resource: "secrets", direction: "FromConsumer" }],
    },
  });
  const first = await bind(world, name);
  await world.hold();
  await world.changeExport(name, { apis: [{ name: "gadgets.example.org" }] });
  let isDone = false;
  const second = bind(world, name).finally(() => isDone = true);
  const changed = await eventually("the Grant follows the Export", async () => {
    const grant = await world.grant(first.grant);
    return grant.metadata.generation === 2 && grant;
  });
  assert.deepEqual(changed.spec.apis, [{ name: "gadgets.example.org" }]);
  assert.equal(changed.spec.conflictPolicy, undefined);
  assert.equal(changed.spec.relatedResources, undefined);
  assert.ok(Date.parse(changed.metadata.annotations?.[ANNOTATIONS.wantedUntil] ?? "") > Date.now());
  await pickUp(world, tokenOf(first)); // the earlier pickup is valid until the bind succeeds
  assert.ok(!isDone);
  await world.release();
  await pickUp(world, tokenOf(await second));
});

Deno.test("bindExport() gives up after issuerWaitMs, and a retry works", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  await world.hold();
  const started = Date.now();
  await assert.rejects(bind(world, name, { issuerWaitMs: 300 }), hasCode("GRANT_NOT_READY"));
  assert.ok(Date.now() - started < 10_000);
  const retry = bind(world, name);
  await world.release();
  await pickUp(world, tokenOf(await retry));
});

Deno.test("bindExport() waits up to issuerWaitMs for a slot, without API calls", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  using client = await counting(plane);
  const slots = bindSlots();
  const { subject } = world.identity();
  const enter = () => slots.enter(subject, patience());
  const taken = await Promise.all(Array.from({ length: 8 }, enter));
  const late = bind(world, name, { kube: client.kube, slots, issuerWaitMs: 300 });
  await assert.rejects(late, hasCode("GRANT_NOT_READY"));
  assert.deepEqual(client.counts, {});
  await bind(world, name, { slots }, "bob");
  const next = bind(world, name, { slots });
  taken[0]?.[Symbol.dispose]();
  await pickUp(world, tokenOf(await next));
  assert.equal(slots.taken, 7);
});

Deno.test("bindExport() reads the Grant live before it gives up", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  const stopped = new Cache(wholeObjects(GRANTS));
  const { grant } = await bind(world, name, { caches: { grants: stopped }, issuerWaitMs: 3_000 });
  assert.equal((await world.grant(grant)).spec.exportName, name);
});

Deno.test("bindExport() ends when its caller aborts", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  await world.hold();
  const caller = new AbortController();
  const waiting = bindExport(world.deps(), world.identity(), name, caller.signal);
  await eventually("the Grant exists", () => [...world.grants.values()].some(isFor(name)));
  caller.abort("gone");
  await assert.rejects(waiting, (error) => error === "gone");
});

const isFor = (exportName: string) => (grant: Grant): boolean =>
  grant.spec.exportName === exportName;

Deno.test("bindExport() waits until a deleted Grant is gone, then recreates it", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  const first = await bind(world, name);
  const key = { name: first.grant };
  await world.kube.delete(GRANTS, key);
  const deleting = await world.grant(key.name);
  assert.ok(isDeleting(deleting));
  await assert.rejects(pickUp(world, tokenOf(first)), hasCode("PICKUP_GONE"));
  assert.equal(
    (await world.grant(key.name)).metadata.annotations?.[ANNOTATIONS.pickupConsumed],
    undefined,
  );
  const second = bind(world, name);
  await patchGrant(world, key.name, { finalizers: [] });
  const result = await second;
  assert.notEqual((await world.grant(key.name)).metadata.uid, deleting.metadata.uid);
  await assert.rejects(pickUp(world, tokenOf(first)), hasCode("PICKUP_GONE"));
  await pickUp(world, tokenOf(result));
});

Deno.test("bindExport() recreates a Grant that is gone, although its cache is stale", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  const first = await bind(world, name);
  const old = await world.grant(first.grant);
  await removeGrant(world.kube, first.grant);
  const frozen = {
    get: () => old,
    learn: () => {},
    waitFor: world.grants.waitFor.bind(world.grants),
    waitForAbsence: world.grants.waitForAbsence.bind(world.grants),
  };
  const second = await bind(world, name, { caches: { grants: frozen } });
  assert.notEqual((await pickUp(world, tokenOf(second))).metadata.uid, old.metadata.uid);
});

Deno.test("boundGrant() returns a Ready Grant without a pickup", async () => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  const grant = await boundGrant(world.deps(), world.identity(), name, patience());
  assert.ok(grant.status?.tokenSecret);
  const stored = await world.grant(grant.metadata.name);
  assert.equal(stored.metadata.annotations?.[ANNOTATIONS.pickupSha256], undefined);
});

Deno.test("boundGrant() stamps the Grant, and keeps its pickup", async (t) => {
  await using world = await BindWorld.start(plane);
  const name = await world.export("pg");
  const provision = (edit?: Partial<BindDeps>) =>
    boundGrant(world.deps(edit), world.identity(), name, patience());
  const boundAt = ({ metadata }: Grant) =>
    Date.parse(metadata.annotations?.[ANNOTATIONS.boundAt] ?? "");
  const grantKey = { name: grantName(name, world.identity().subject) };
  const start = Date.now();

  await t.step("it stamps a new Grant at its creation", async () => {
    await world.hold();
    const provisioned = provision();
    const made = await eventually("the Grant exists", () => world.kube.find(GRANTS, grantKey));
    assert.ok(!isReady(made) && boundAt(made) >= start);
    await world.release();
    assert.equal(boundAt(await provisioned), boundAt(made));
    assert.equal(boundAt(await world.grant(grantKey.name)), boundAt(made));
  });
  const bound = await bind(world, name);
  const stored = await world.grant(grantKey.name);

  await t.step("it changes only the stamp of a Ready Grant", async () => {
    using client = await counting(plane);
    const now = () => new Date(boundAt(stored) + 60_000);
    const given = await provision({ kube: client.kube, now });
    assert.deepEqual(client.counts, { GET: 2, PATCH: 1 }, "Export and Grant");
    const after = await world.grant(grantKey.name);
    assert.deepEqual(given.metadata, after.metadata);
    assert.equal(boundAt(after), boundAt(stored) + 60_000);
    assert.deepEqual([after.spec, after.status], [stored.spec, stored.status]);
    const others = ({ metadata: { annotations } }: Grant) =>
      Object.entries(annotations ?? {}).filter(([key]) => key !== ANNOTATIONS.boundAt).sort();
    assert.deepEqual(others(after), others(stored));
  });
  await t.step("it stamps the Grant when its cache is stale", async () => {
    const stale = {
      get: () => stored,
      learn: () => {},
      waitFor: () => assert.fail("the Grant is Ready"),
      waitForAbsence: () => assert.fail("the Grant exists"),
    };
    await provision({
      caches: { grants: stale },
      now: () => new Date(boundAt(stored) + 120_000),
    });
    assert.equal(boundAt(await world.grant(grantKey.name)), boundAt(stored) + 120_000);
  });
  await t.step("it recreates a Grant that is gone, although its cache is stale", async () => {
    const picked = await pickUp(world, tokenOf(bound));
    assert.equal(picked.metadata.uid, stored.metadata.uid, "the pickup has changed");
    await removeGrant(world.kube, grantKey.name);
    const { grants } = world;
    const stale = {
      get: () => stored,
      learn: grants.learn.bind(grants),
      waitFor: grants.waitFor.bind(grants),
      waitForAbsence: grants.waitForAbsence.bind(grants),
    };
    const again = await provision({ caches: { grants: stale } });
    assert.notEqual(again.metadata.uid, stored.metadata.uid);
  });
});

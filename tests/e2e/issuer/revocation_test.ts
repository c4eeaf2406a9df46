import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CLUSTER_ROLES,
  condition,
  type Grant,
  GRANTS,
  type Lease,
  LEASES,
  NAMESPACES,
  ROLES,
} from "../../../common/api/resources.ts";
import { KubeError } from "../../../common/kube/kube_error.ts";
import {
  ANNOTATIONS,
  FIELD_MANAGERS,
  heartbeatLeaseName,
  LABELS,
} from "../../../common/api/names.ts";
import {
  boundaryOf,
  customType,
  grantFor,
  type GrantSample,
  issuedKeys,
  WIDGETS,
} from "../../support/planes/issuer_samples.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";

const REAPER = ["--enable-reaper", "--reaper-ttl=1m", "--reaper-interval=300ms"];

// Before any test, so that no test is charged with processes it does not end.
const world = await IssuerWorld.start(...REAPER);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { kube } = world;

/** Renews the heartbeat of a consumer, with the credentials of its Grant. */
async function beat(grant: Grant, renewedAgoMs = 0): Promise<Lease> {
  using issued = await world.issued(grant);
  const { name } = grant.metadata;
  const uid = `consumer-of-${name}`;
  const metadata = {
    name: heartbeatLeaseName(name, uid),
    namespace: boundaryOf(grant),
    labels: { [LABELS.managed]: "true" },
    annotations: { [ANNOTATIONS.connection]: name, [ANNOTATIONS.consumerClusterUid]: uid },
  };
  const renewTime = new Date(Date.now() - renewedAgoMs).toISOString().replace("Z", "000Z");
  return await eventually("the Lease is written", () =>
    issued.kube.apply(LEASES, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata,
      spec: { holderIdentity: uid, leaseDurationSeconds: 60, renewTime },
    }, FIELD_MANAGERS.cli));
}

/** Grants and waits. */
const granted = async (sample: GrantSample): Promise<Grant> =>
  await world.ready(await world.grant(sample));

/** Waits until a Grant, this one and not its successor, is gone. */
const gone = ({ metadata: { name, uid } }: Grant): Promise<true> =>
  eventually(`Grant ${name} is gone`, async () => {
    const found = await kube.find(GRANTS, { name });
    return found?.metadata.uid !== uid;
  });

const revoked = async (grant: Grant): Promise<void> => {
  await kube.delete(GRANTS, { name: grant.metadata.name });
  await gone(grant);
};

/** What is left of Grants that were revoked, by kind and name. */
async function leftovers(...grants: Grant[]): Promise<string[]> {
  const names = grants.map(({ metadata }) => metadata.name);
  const found: string[] = [];
  for (const [type] of issuedKeys(grants[0] ?? assert.fail()).slice(1)) {
    for (const { kind, metadata } of await kube.list(type, { labelSelector: LABELS.grant })) {
      const grant = metadata.labels?.[LABELS.grant];
      if (grant && names.includes(grant)) found.push(`${kind} ${metadata.name}`);
    }
  }
  for (const { metadata } of await kube.list(LEASES)) {
    const grant = metadata.annotations?.[ANNOTATIONS.connection];
    if (grant && names.includes(grant)) found.push(`Lease ${metadata.name}`);
  }
  return found;
}

/** The HTTP status of a call that is refused. */
const refusal = async (call: Promise<unknown>): Promise<number> => {
  const error = await call.then(() => assert.fail("it was let through"), (error) => error);
  assert.ok(error instanceof KubeError, String(error));
  return error.status;
};

Deno.test("issuer() revokes rights first and the finalizer last, and only what one Grant gave", async (t) => {
  const [grant, other] = [
    await granted({ who: "ada" }),
    await granted({ who: "ada", exportName: "others" }),
  ];
  const { name } = grant.metadata;
  const lease = await beat(grant);
  const otherLease = await beat(other);
  using issued = await world.issued(grant);
  using otherIssued = await world.issued(other);
  const widgets = customType(WIDGETS);
  await issued.kube.list(widgets);

  const writes = await world.writesDuring(() => revoked(grant));
  await t.step("the token has no rights at once", async () => {
    assert.equal(await refusal(issued.kube.list(widgets)), 403);
    assert.equal(await refusal(issued.kube.get(LEASES, lease.metadata)), 403);
  });
  await t.step("the steps are in their order", () => {
    const done = writes.filter((write) => !write.startsWith("create events"));
    const pairs = [done.slice(0, 2).sort(), done.slice(2, 4).sort(), done.slice(4)];
    assert.deepEqual(pairs.flat(), [
      `delete clusterrolebindings xbind:grant:${name}`,
      `delete rolebindings ${name}`,
      `delete clusterroles xbind:grant:${name}`,
      `delete roles ${name}`,
      `delete secrets ${name}-token`,
      `delete serviceaccounts ${name}`,
      `delete leases ${lease.metadata.name}`,
      `patch grants ${name}`,
    ]);
  });
  await t.step("nothing is left but the boundary", async () => {
    assert.deepEqual(await leftovers(grant), []);
    assert.ok(await kube.find(NAMESPACES, { name: boundaryOf(grant) }));
  });
  await t.step("the identity's other Grant is untouched", async () => {
    await world.ready(other);
    assert.equal((await world.issuedObjects(other)).size, 7);
    assert.deepEqual(await kube.get(LEASES, otherLease.metadata), otherLease);
    await otherIssued.kube.list(widgets);
  });
  await t.step("the token is not even known a little later", async () => {
    const isUnknown = async () => await refusal(issued.kube.list(widgets)) === 401;
    await eventually("it is unknown", isUnknown, { timeoutMs: 45_000, everyMs: 200 });
  });
});

Deno.test("issuer() provisions a Grant that is made again at once, and it is not born stale", async () => {
  const sample = { who: "again" };
  const old = await granted(sample);
  await beat(old, 3_600_000);
  await kube.delete(GRANTS, { name: old.metadata.name });
  const grant = await eventually("it can be made again", () => world.grant(sample));
  assert.notEqual(grant.metadata.uid, old.metadata.uid);
  await world.ready(grant);
  using issued = await world.issued(grant);
  await eventually("it has rights", () => issued.kube.list(customType(WIDGETS)));
  assert.deepEqual((await leftovers(grant)).filter((object) => object.startsWith("Lease")), []);

  // Another one that is stale proves that the reaper has looked since.
  const silent = await granted({ who: "silent" });
  await beat(silent, 3_600_000);
  await eventually("the reaper has marked a Grant", async () => {
    const stored = await kube.get(GRANTS, { name: silent.metadata.name });
    return condition(stored, "Stale")?.status === "True";
  });
  assert.notEqual(condition(await world.ready(grant), "Stale")?.status, "True");
});

Deno.test("issuer() leaves nothing of a Grant that is deleted while it is provisioned", async () => {
  // How far it gets: until one of its objects is there, or not at all.
  const stages = [undefined, ...issuedKeys(grantFor({})).keys()];
  const grants = await Promise.all([...stages, ...stages].map(async (stage, index) => {
    const grant = await world.grant({ who: `hasty-${index % 3}`, exportName: `hasty-${index}` });
    if (stage !== undefined) {
      const [type, key] = issuedKeys(grant)[stage] ?? assert.fail();
      await eventually(`its ${type.kind} is there`, () => kube.find(type, key), { everyMs: 1 });
    }
    await kube.delete(GRANTS, { name: grant.metadata.name });
    return grant;
  }));
  await Promise.all(grants.map(gone));
  // The API server does not see a finalizer that meets a delete: then the rest comes afterwards.
  await eventually("nothing is left", async () => {
    assert.deepEqual(await leftovers(...grants), []);
    return true;
  });
});

Deno.test("issuer() takes back what a Grant left that nobody revoked", async (t) => {
  const vanish = async (grant: Grant) => {
    world.backend.signal("SIGSTOP"); // or it would put its finalizer back
    await world.edit(GRANTS, grant.metadata, { metadata: { finalizers: null } });
    await revoked(grant);
  };
  await t.step("when its finalizer was removed by hand", async () => {
    const [grant, other] = [await granted({ who: "vanished" }), await granted({ who: "stays" })];
    await beat(grant);
    await vanish(grant);
    world.backend.signal("SIGCONT");
    await eventually("nothing is left", async () => (await leftovers(grant)).length === 0);
    assert.equal((await world.issuedObjects(other)).size, 7);
    await world.backend.logged("removed what a vanished Grant had left");
  });
  await t.step("when somebody gave its label to an object of another name", async () => {
    const grant = await granted({ who: "labelled" });
    const { name } = grant.metadata;
    const clusterRole = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: `copy-of-${name}`, labels: { [LABELS.grant]: name } },
    };
    await kube.create(CLUSTER_ROLES, clusterRole, FIELD_MANAGERS.cli);
    await revoked(grant);
    await eventually("nothing is left", async () => (await leftovers(grant)).length === 0);
  });
  await t.step("while no issuer ran", async () => {
    const grant = await granted({ who: "vanished" });
    await vanish(grant);
    await world.kill();
    assert.equal((await leftovers(grant)).length, 6);
    await world.restart(...REAPER);
    await eventually("nothing is left", async () => (await leftovers(grant)).length === 0);
  });
});

Deno.test("issuer() keeps the Grant for as long as something of it is left", async () => {
  const grant = await granted({ who: "held" });
  using issued = await world.issued(grant);
  await issued.kube.list(customType(WIDGETS));
  const role = { name: grant.metadata.name, namespace: boundaryOf(grant) };
  await world.edit(ROLES, role, { metadata: { finalizers: ["example.org/hold"] } });
  await kube.delete(GRANTS, { name: grant.metadata.name });
  await eventually("its account is gone", async () => {
    const [held, ...others] = await leftovers(grant);
    return held === `Role ${role.name}` && others.length === 0;
  });
  assert.equal(await refusal(issued.kube.list(customType(WIDGETS))), 403);
  assert.ok(await kube.find(GRANTS, { name: grant.metadata.name }));
  await world.edit(ROLES, role, { metadata: { finalizers: null } });
  await gone(grant);
});

Deno.test("issuer() leaves the finalizers of others alone", async () => {
  const grant = await granted({ who: "shared" });
  const other = "example.org/other";
  const finalizers = [other, ...grant.metadata.finalizers ?? []];
  await world.edit(GRANTS, grant.metadata, { metadata: { finalizers } });
  await kube.delete(GRANTS, { name: grant.metadata.name });
  await eventually("its own is gone", async () => {
    const { metadata } = await kube.get(GRANTS, { name: grant.metadata.name });
    assert.deepEqual(metadata.finalizers, [other]);
    return true;
  });
  assert.deepEqual(await leftovers(grant), []);
  await world.edit(GRANTS, grant.metadata, { metadata: { finalizers: null } });
  await gone(grant);
});

Deno.test("issuer() revokes what was deleted while it was away", async () => {
  const [grant, lost] = [await granted({ who: "away" }), await granted({ who: "lost" })];
  await world.stop();
  await kube.delete(GRANTS, { name: grant.metadata.name });
  await kube.delete(GRANTS, { name: lost.metadata.name });
  await kube.delete(NAMESPACES, { name: boundaryOf(lost) });
  assert.equal((await world.issuedObjects(grant)).size, 7);
  await world.restart(...REAPER);
  await Promise.all([gone(grant), gone(lost)]);
  assert.deepEqual(await leftovers(grant, lost), []);
  const said = (name: string) =>
    world.backend.log.filter(({ code, grant }) => code === "grant.revoked" && grant === name);
  assert.equal(said(grant.metadata.name).length, 1);
  assert.equal(said(lost.metadata.name).length, 1);
  assert.deepEqual(world.backend.log.filter(({ level }) => level === "error"), []);
});

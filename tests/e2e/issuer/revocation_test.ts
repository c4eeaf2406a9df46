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
import { ANNOTATIONS, FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import {
  boundaryOf,
  customType,
  grantFor,
  type GrantSample,
  issuedKeys,
  leaseFor,
  WIDGETS,
} from "../../support/planes/issuer_samples.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";

const REAPER = ["--enable-reaper", "--reaper-ttl=1m", "--reaper-interval=300ms"];

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await IssuerWorld.start(...REAPER);
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { kube } = world;

/** Renews the heartbeat of a consumer, with the credentials of its Grant. */
async function beat(grant: Grant, renewedAgoMs = 0): Promise<Lease> {
  using issued = await world.issued(grant);
  const connection = grant.metadata.name;
  const consumerUid = `consumer-of-${connection}`;
  const renewTimeMs = Date.now() - renewedAgoMs;
  const lease = leaseFor({ connection, namespace: boundaryOf(grant), consumerUid, renewTimeMs });
  return await eventually(
    "the Lease is written",
    () => issued.kube.apply(LEASES, lease, FIELD_MANAGERS.cli),
  );
}

/** Makes a Grant and waits until it is Ready. */
const granted = async (sample: GrantSample): Promise<Grant> =>
  await world.ready(await world.grant(sample));

/** Waits until this Grant is gone; a new Grant may have its name. */
const gone = ({ metadata: { name, uid } }: Grant): Promise<true> =>
  eventually(`Grant ${name} is gone`, async () => {
    const found = await kube.find(GRANTS, { name });
    return found?.metadata.uid !== uid;
  });

const revoked = async (grant: Grant): Promise<void> => {
  await kube.delete(GRANTS, { name: grant.metadata.name });
  await gone(grant);
};

/** The leftovers of revoked Grants, as kind and name. */
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

/** The HTTP status of a refused call. */
const refusal = async (call: Promise<unknown>): Promise<number> => {
  const error = await call.then(() => assert.fail("the call succeeded"), (error) => error);
  assert.ok(error instanceof KubeError, String(error));
  return error.status;
};

Deno.test("issuer() revokes only the deleted Grant, its rights first and its finalizer last", async (t) => {
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
  await eventually("it has rights", () => issued.kube.list(widgets));

  const writes = await world.writesDuring(() => revoked(grant));
  await t.step("the token has no rights any more", async () => {
    assert.equal(await refusal(issued.kube.list(widgets)), 403);
    assert.equal(await refusal(issued.kube.get(LEASES, lease.metadata)), 403);
  });
  await t.step("the deletes are in order", () => {
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
  await t.step("the other Grant of the identity is unchanged", async () => {
    await world.ready(other);
    assert.equal((await world.issuedObjects(other)).size, 7);
    assert.deepEqual(await kube.get(LEASES, otherLease.metadata), otherLease);
    await otherIssued.kube.list(widgets);
  });
  await t.step("the token becomes unknown", async () => {
    const isUnknown = async () => await refusal(issued.kube.list(widgets)) === 401;
    await eventually("the answer is 401", isUnknown, { timeoutMs: 45_000, everyMs: 200 });
  });
});

Deno.test("issuer() provisions a Grant that is recreated at once, and it is not stale", async () => {
  const sample = { who: "again" };
  const old = await granted(sample);
  await beat(old, 3_600_000);
  await kube.delete(GRANTS, { name: old.metadata.name });
  const grant = await eventually("the Grant can be recreated", () => world.grant(sample));
  assert.notEqual(grant.metadata.uid, old.metadata.uid);
  await world.ready(grant);
  using issued = await world.issued(grant);
  await eventually("the token has rights", () => issued.kube.list(customType(WIDGETS)));
  assert.deepEqual((await leftovers(grant)).filter((object) => object.startsWith("Lease")), []);

  // Another Grant that becomes stale proves that the reaper has swept since.
  const silent = await granted({ who: "silent" });
  await beat(silent, 3_600_000);
  await eventually("the reaper has marked a Grant", async () => {
    const stored = await kube.get(GRANTS, { name: silent.metadata.name });
    return condition(stored, "Stale")?.status === "True";
  });
  assert.notEqual(condition(await world.ready(grant), "Stale")?.status, "True");
});

Deno.test("issuer() leaves no objects of a Grant that is deleted during provisioning", async () => {
  // The object that exists at the delete; none at all for the first stage.
  const stages = [undefined, ...issuedKeys(grantFor({})).keys()];
  const grants = await Promise.all([...stages, ...stages].map(async (stage, index) => {
    const grant = await world.grant({ who: `hasty-${index % 3}`, exportName: `hasty-${index}` });
    if (stage !== undefined) {
      const [type, key] = issuedKeys(grant)[stage] ?? assert.fail();
      await eventually(`the ${type.kind} exists`, () => kube.find(type, key), { everyMs: 1 });
    }
    await kube.delete(GRANTS, { name: grant.metadata.name });
    return grant;
  }));
  await Promise.all(grants.map(gone));
  // A finalizer may come too late for the delete: then the cleanup runs after the Grant is gone.
  await eventually("no object is left", async () => {
    assert.deepEqual(await leftovers(...grants), []);
    return true;
  });
});

Deno.test("issuer() removes the objects of a vanished Grant", async (t) => {
  const vanish = async (grant: Grant) => {
    world.backend.signal("SIGSTOP"); // or it would restore its finalizer
    await world.edit(GRANTS, grant.metadata, { metadata: { finalizers: null } });
    await revoked(grant);
  };
  await t.step("after its finalizer was removed by hand", async () => {
    const [grant, other] = [await granted({ who: "vanished" }), await granted({ who: "stays" })];
    await beat(grant);
    await vanish(grant);
    world.backend.signal("SIGCONT");
    await eventually("no object is left", async () => (await leftovers(grant)).length === 0);
    assert.equal((await world.issuedObjects(other)).size, 7);
    await world.backend.logged("removed what a vanished Grant had left");
  });
  await t.step("with a foreign object that has its label", async () => {
    const grant = await granted({ who: "labelled" });
    const { name } = grant.metadata;
    const clusterRole = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: `copy-of-${name}`, labels: { [LABELS.grant]: name } },
    };
    await kube.create(CLUSTER_ROLES, clusterRole, FIELD_MANAGERS.cli);
    await revoked(grant);
    await eventually("no object is left", async () => (await leftovers(grant)).length === 0);
  });
  await t.step("after a restart", async () => {
    const grant = await granted({ who: "vanished" });
    await vanish(grant);
    await world.kill();
    assert.equal((await leftovers(grant)).length, 6);
    await world.restart(...REAPER);
    await eventually("no object is left", async () => (await leftovers(grant)).length === 0);
  });
});

Deno.test("issuer() keeps a deleted Grant while one of its objects is left", async () => {
  const grant = await granted({ who: "held" });
  using issued = await world.issued(grant);
  await eventually("it has rights", () => issued.kube.list(customType(WIDGETS)));
  const role = { name: grant.metadata.name, namespace: boundaryOf(grant) };
  await world.edit(ROLES, role, { metadata: { finalizers: ["example.org/hold"] } });
  await kube.delete(GRANTS, { name: grant.metadata.name });
  await eventually("only the Role is left", async () => {
    const [held, ...others] = await leftovers(grant);
    return held === `Role ${role.name}` && others.length === 0;
  });
  assert.equal(await refusal(issued.kube.list(customType(WIDGETS))), 403);
  assert.ok(await kube.find(GRANTS, { name: grant.metadata.name }));
  await world.edit(ROLES, role, { metadata: { finalizers: null } });
  await gone(grant);
});

Deno.test("issuer() keeps the finalizers of others", async () => {
  const grant = await granted({ who: "shared" });
  const other = "example.org/other";
  const finalizers = [other, ...grant.metadata.finalizers ?? []];
  await world.edit(GRANTS, grant.metadata, { metadata: { finalizers } });
  await kube.delete(GRANTS, { name: grant.metadata.name });
  await eventually("its own finalizer is gone", async () => {
    const { metadata } = await kube.get(GRANTS, { name: grant.metadata.name });
    assert.deepEqual(metadata.finalizers, [other]);
    return true;
  });
  assert.deepEqual(await leftovers(grant), []);
  await world.edit(GRANTS, grant.metadata, { metadata: { finalizers: null } });
  await gone(grant);
});

Deno.test("issuer() revokes Grants that were deleted while it was stopped", async () => {
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
  for (const { metadata: { name } } of [grant, lost]) {
    await eventually("it is logged", () => said(name).length > 0);
    assert.equal(said(name).length, 1);
  }
  assert.deepEqual(world.backend.log.filter(({ level }) => level === "error"), []);
});

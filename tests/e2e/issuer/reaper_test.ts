import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type Condition,
  condition,
  type Grant,
  GRANTS,
  isDeleting,
  type Lease,
  LEASES,
  NAMESPACES,
} from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { KubeError } from "../../../common/kube/kube_error.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../../common/api/names.ts";
import { beating } from "../../support/planes/beating.ts";
import { boundaryOf, customType, leaseFor, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";

const TTL_MS = 6_000;
const REAPER = ["--enable-reaper", `--reaper-ttl=${TTL_MS}ms`, "--reaper-interval=1s"];
const RBAC = "rbac.authorization.k8s.io";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await IssuerWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { kube } = world;
await allowReaping("xbind-backend");

/** Adds the documented rights of a reaper to those of an issuer. */
async function allowReaping(user: string): Promise<void> {
  const metadata = { name: "reaping" };
  const rule = (group: string, resource: string, ...verbs: string[]) => ({
    apiGroups: [group],
    resources: [resource],
    verbs,
  });
  await world.create(CLUSTER_ROLES, {
    metadata,
    rules: [
      rule("iam.xbind.io", "grants", "patch", "delete"),
      rule("iam.xbind.io", "grants/status", "patch"),
      rule("", "namespaces", "get", "list", "patch", "delete"),
      rule("coordination.k8s.io", "leases", "get", "list", "watch"),
    ],
  });
  await world.create(CLUSTER_ROLE_BINDINGS, {
    metadata,
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: metadata.name },
    subjects: [{ apiGroup: RBAC, kind: "User", name: user }],
  });
}

/** Writes a heartbeat like a konnector. */
async function beat(as: KubeClient, grant: Grant, renewTimeMs?: number): Promise<Lease> {
  const connection = grant.metadata.name;
  const consumerUid = "0123456789-consumer";
  const lease = leaseFor({ connection, namespace: boundaryOf(grant), consumerUid, renewTimeMs });
  return await as.apply(LEASES, lease, FIELD_MANAGERS.cli);
}

/** Beats each second with the credentials of a Grant, until it is disposed. */
async function beatingAs(grant: Grant): Promise<AsyncDisposable> {
  await using cleanup = new AsyncDisposableStack();
  const consumer = cleanup.use(await world.issued(grant));
  await eventually("the heartbeat is written", () => beat(consumer.kube, grant));
  cleanup.use(beating(() => beat(consumer.kube, grant), 1_000));
  return cleanup.move();
}

/** Waits until a Grant is Stale. */
const stale = ({ metadata: { name } }: Grant): Promise<Condition> =>
  eventually(`Grant ${name} is Stale`, async () => {
    const found = condition(await kube.get(GRANTS, { name }), "Stale");
    return found?.status === "True" && found;
  });

const gone = ({ metadata: { name } }: Grant): Promise<boolean> =>
  eventually(`Grant ${name} is gone`, async () => !await kube.find(GRANTS, { name }));

/** Repeats a call until it answers with the last status; returns each change of the status. */
async function statusesUntil(last: number, call: () => Promise<unknown>): Promise<number[]> {
  const seen: number[] = [];
  await eventually(`the answer is ${last}`, async () => {
    const status = await call().then(() => 200, (error) => {
      if (error instanceof KubeError) return error.status;
      throw error;
    });
    if (seen.at(-1) !== status) seen.push(status);
    return status === last;
  }, { timeoutMs: 60_000, everyMs: 100 });
  return seen;
}

Deno.test("xbind-backend as issuer and reaper revokes a silent Grant, and keeps a live one", async (t) => {
  await world.restart(...REAPER, "--reaper-revoke", "--reaper-delete-boundary");
  const silent = await world.ready(await world.grant());
  const live = await world.ready(await world.grant({ exportName: "others" }));
  const consumer = await beatingAs(live);
  using credentials = await world.issued(silent);

  await t.step("the silent Grant loses its rights, then its credentials", async () => {
    const statuses = statusesUntil(401, () => credentials.kube.list(customType(WIDGETS)));
    const { reason, message } = await stale(silent);
    assert.equal(reason, "NoLease");
    assert.match(message, /^No heartbeat since the Grant became Ready at /);
    await gone(silent);
    assert.ok(Date.now() - Date.parse(silent.metadata.creationTimestamp ?? "") > TTL_MS);
    assert.deepEqual(await statuses, [200, 403, 401]);
  });

  await t.step(
    "the live Grant of the same identity and the boundary stay",
    async () => {
      const stored = await world.ready(live);
      assert.equal(stored.metadata.uid, live.metadata.uid);
      assert.notEqual(condition(stored, "Stale")?.status, "True");
      const boundary = await kube.get(NAMESPACES, { name: boundaryOf(live) });
      assert.ok(!isDeleting(boundary));
      assert.equal(boundary.metadata.annotations?.[ANNOTATIONS.reapBoundary], undefined);
    },
  );

  await t.step("the boundary is deleted with the last Grant", async () => {
    await consumer[Symbol.asyncDispose]();
    const { reason } = await stale(live);
    assert.equal(reason, "LeaseExpired");
    await gone(live);
    await eventually(
      "the boundary is gone",
      async () => !await kube.find(NAMESPACES, { name: boundaryOf(live) }),
    );
    assert.deepEqual(world.backend.log.filter(({ level }) => level === "error"), []);
  });
});

/** Asserts that a Grant gets its whole TTL, like a Grant that never had a heartbeat. */
async function assertBornFresh(grant: Grant): Promise<void> {
  const readyAt = condition(await world.ready(grant), "Ready")?.lastTransitionTime ?? "";
  const { reason, lastTransitionTime } = await stale(grant);
  assert.equal(reason, "NoLease");
  assert.ok(Date.parse(lastTransitionTime) - Date.parse(readyAt) >= TTL_MS);
}

Deno.test("xbind-backend provisions a Grant that is recreated right after its revocation", async () => {
  const hourAgo = Date.now() - 3_600_000;
  await world.restart(...REAPER);
  const samples = [{ who: "at-once" }, { who: "later" }];
  const [first, second] = await Promise.all(samples.map(async (sample) => {
    const grant = await world.ready(await world.grant(sample));
    await beat(kube, grant, hourAgo);
    return grant;
  }));
  assert.ok(first && second);
  await world.stop();
  for (const { metadata: { name } } of [first, second]) await kube.delete(GRANTS, { name });
  assert.ok(isDeleting(await kube.get(GRANTS, first.metadata)), "it keeps its finalizer");

  const again = eventually("it can be recreated", () => world.grant(samples[0]), { everyMs: 1 });
  await world.restart(...REAPER);
  const atOnce = await again;
  assert.notEqual(atOnce.metadata.uid, first.metadata.uid);
  assert.deepEqual(await kube.list(LEASES, { namespace: boundaryOf(first) }), []);

  await gone(second);
  const { metadata } = await beat(kube, second, hourAgo); // a late heartbeat of its konnector
  const madeMs = Date.parse(metadata.creationTimestamp ?? "");
  await eventually("the next Grant is newer than the heartbeat", () => Date.now() - madeMs > 1_000);
  const later = await world.grant(samples[1]);
  await Promise.all([assertBornFresh(atOnce), assertBornFresh(later)]);
});

Deno.test("--reaper-delete-boundary without --reaper-revoke logs a warning and deletes nothing", async () => {
  await world.restart(...REAPER, "--reaper-delete-boundary");
  const warning = "--reaper-delete-boundary has no effect without --reaper-revoke";
  assert.equal((await world.backend.logged(warning)).level, "warn");
  const grant = await world.ready(await world.grant({ who: "kept" }));
  await stale(grant);
  const wouldRevoke = async () => {
    const text = await world.backend.metrics();
    return Number(/^xbind_grants_would_revoke (\d+)$/m.exec(text)?.[1]);
  };
  const all = await kube.list(GRANTS);
  await eventually("a sweep would reap every Grant", async () => {
    return await wouldRevoke() === all.length;
  });
  // With --reaper-revoke the next sweep would have deleted the Grant and a marked boundary.
  const key = { name: boundaryOf(grant) };
  const { metadata: { resourceVersion = "" } } = await kube.get(NAMESPACES, key);
  await world.stop();
  const boundary = await kube.get(NAMESPACES, key);
  assert.deepEqual(
    [isDeleting(boundary), boundary.metadata.resourceVersion],
    [false, resourceVersion],
  );
  assert.equal(boundary.metadata.annotations?.[ANNOTATIONS.reapBoundary], undefined);
  assert.deepEqual((await kube.list(GRANTS)).filter(isDeleting), []);
  assert.equal((await kube.list(GRANTS)).length, all.length);
});

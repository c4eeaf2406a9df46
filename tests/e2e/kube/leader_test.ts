import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { type Lease, LEASES } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { NotLeadingError } from "../../../common/kube/leader.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { aborted } from "../../../common/time/runnable.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { workspace } from "../../support/planes/kube.ts";
import {
  Candidate,
  LEADER_TIMING as TIMING,
  leaderLease,
} from "../../support/programs/leader_candidate.ts";

const arena = async () => await workspace(await sharedProvider(), "leader");

Deno.test("Leader runs one candidate at a time, and hands over quickly when it ends", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  await using stack = new AsyncDisposableStack();
  const candidates = ["a", "b", "c"].map((identity) =>
    stack.use(new Candidate({ kube, namespace, identity }))
  );
  const holders: (string | undefined)[] = [];
  let releasedAt = Infinity;
  for (let round = 0; round < 3; round++) {
    const leading = await eventually("one runs", () => candidates.find((one) => one.isRunning));
    assert.ok(performance.now() - releasedAt < TIMING.leaseMs, "the Lease had to expire");
    assert.equal(candidates.filter(({ isRunning }) => isRunning).length, 1);
    leading.leader.assertLeading();
    assert.ok(leading.leader.isLeading);
    for (const other of candidates.filter((one) => one !== leading)) {
      assert.throws(() => other.leader.assertLeading(), NotLeadingError);
      assert.ok(!other.leader.isLeading);
    }
    const { spec } = await leaderLease(kube, namespace);
    holders.push(spec?.holderIdentity);
    assert.equal(spec?.leaseTransitions, round);
    assert.equal(spec?.leaseDurationSeconds, TIMING.leaseMs / 1000);
    releasedAt = performance.now();
    await leading.stop();
    assert.deepEqual(leading.changes, [true, false]);
    assert.throws(() => leading.leader.assertLeading(), NotLeadingError);
  }
  assert.deepEqual(holders.toSorted(), ["a", "b", "c"]);
  assert.ok(!(await leaderLease(kube, namespace)).spec?.holderIdentity, "the Lease is still held");
});

/** Writes an annotation on the Lease, between two renewals. */
const annotate = (kube: KubeClient, namespace: string, note: string): Promise<Lease> =>
  eventually("a note is on the Lease", async () => {
    const { metadata } = await leaderLease(kube, namespace);
    const { resourceVersion = "" } = metadata;
    return await kube.mergePatch(
      LEASES,
      { name: "leader", namespace },
      { metadata: { resourceVersion, annotations: { note } } },
      FIELD_MANAGERS.installer,
    );
  });

Deno.test("Leader renews and releases its Lease, and keeps annotations of others", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  const candidate = new Candidate({ kube, namespace, identity: "a" });
  await candidate.runs();
  const noted = await annotate(kube, namespace, "renew");
  const renewed = await eventually("renewals go on", async () => {
    const lease = await leaderLease(kube, namespace);
    return lease.spec?.renewTime !== noted.spec?.renewTime && lease;
  });
  assert.equal(renewed.spec?.acquireTime, noted.spec?.acquireTime);
  assert.equal(renewed.spec?.leaseTransitions, 0);
  assert.equal(renewed.metadata.annotations?.note, "renew");
  assert.deepEqual(candidate.changes, [true]);
  await annotate(kube, namespace, "release");
  await candidate.stop();
  const released = await leaderLease(kube, namespace);
  assert.equal(released.metadata.annotations?.note, "release");
  assert.ok(!released.spec?.holderIdentity);
  assert.equal(candidate.said.at(-1), "leadership released");
});

Deno.test("Leader takes over after the lease duration, and ignores the clock of the dead holder", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  const held: Lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "leader", namespace },
    spec: {
      holderIdentity: "dead",
      leaseDurationSeconds: 2,
      renewTime: "2001-01-01T00:00:00.000000Z", // a wrong clock: the holder may be alive
      leaseTransitions: 7,
    },
  };
  await kube.create(LEASES, held, FIELD_MANAGERS.installer);
  const beganAt = performance.now();
  await using candidate = new Candidate({ kube, namespace, identity: "a" });
  await candidate.runs();
  const [startedAt = 0] = candidate.startedAt;
  assert.ok(startedAt - beganAt >= 2_000, `took over after ${startedAt - beganAt} ms`);
  assert.equal((await leaderLease(kube, namespace)).spec?.leaseTransitions, 8);
  assert.deepEqual(candidate.said, ["standing by", "leadership acquired"]);
});

Deno.test("Leader keeps the lead when its Lease is deleted, and no standby takes over", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  await using first = new Candidate({ kube, namespace, identity: "a" });
  await first.runs();
  await using standby = new Candidate({ kube, namespace, identity: "b" });
  await eventually("the standby has seen the Lease", () => standby.said.includes("standing by"));
  for (let round = 0; round < 3; round++) {
    const { metadata } = await leaderLease(kube, namespace);
    await kube.delete(LEASES, { name: "leader", namespace });
    const made = await eventually("the Lease is back", () => leaderLease(kube, namespace));
    assert.notEqual(made.metadata.uid, metadata.uid);
    assert.equal(made.spec?.holderIdentity, "a");
  }
  assert.deepEqual([first.changes, standby.changes], [[true], []]);
});

Deno.test("Leader stops when it sees another holder of its Lease, then campaigns again", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  await using candidate = new Candidate({ kube, namespace, identity: "a" });
  await candidate.runs();
  await eventually("the Lease is given away", async () => {
    const lease = await leaderLease(kube, namespace);
    const spec = { ...lease.spec, holderIdentity: "by-hand", leaseDurationSeconds: 1 };
    return await kube.update(LEASES, { ...lease, spec }, FIELD_MANAGERS.installer);
  });
  const givenAt = performance.now();
  await eventually("it stops", () => !candidate.isRunning);
  assert.ok(performance.now() - givenAt < TIMING.renewDeadlineMs, "it did not stop in time");
  assert.throws(() => candidate.leader.assertLeading(), /another process holds it/);
  await candidate.runs(2);
  assert.deepEqual(candidate.changes, [true, false, true]);
});

Deno.test("Leader throws the error of its runnable, and releases the Lease", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  const broken = new Candidate(
    { kube, namespace, identity: "a" },
    () => Promise.reject(new Error("broken")),
  );
  await assert.rejects(broken.running, { message: "broken" });
  assert.ok(!(await leaderLease(kube, namespace)).spec?.holderIdentity);
  assert.deepEqual(broken.changes, [true, false]);
});

Deno.test("Leader ends when its runnable ends, and releases the Lease", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  const brief = new Candidate({ kube, namespace, identity: "a" }, () => Promise.resolve());
  await brief.running;
  assert.ok(!(await leaderLease(kube, namespace)).spec?.holderIdentity);
  assert.deepEqual(brief.changes, [true, false]);
});

Deno.test("Leader fails when its runnable does not stop, and does not release the Lease", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  const end = new AbortController();
  const stubborn = new Candidate({ kube, namespace, identity: "a" }, () => aborted(end.signal));
  await stubborn.runs();
  const stopping = assert.rejects(stubborn.stop(), /did not stop in time/);
  stubborn.leader.assertLeading(); // it still leads while it stops
  await stopping;
  assert.throws(() => stubborn.leader.assertLeading(), NotLeadingError);
  assert.equal((await leaderLease(kube, namespace)).spec?.holderIdentity, "a");
  end.abort();
});

Deno.test("Leader renews its Lease while its runnable stops slowly", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  const mayEnd = Promise.withResolvers<void>();
  const timing = { ...TIMING, stopMs: 30_000 };
  const slow = new Candidate({ kube, namespace, identity: "a", timing }, async (signal) => {
    await aborted(signal);
    await mayEnd.promise;
  });
  await slow.runs();
  const stopping = slow.stop();
  const before = (await leaderLease(kube, namespace)).spec?.renewTime;
  await eventually(
    "it renews",
    async () => (await leaderLease(kube, namespace)).spec?.renewTime !== before,
  );
  slow.leader.assertLeading();
  mayEnd.resolve();
  await stopping;
  assert.ok(!(await leaderLease(kube, namespace)).spec?.holderIdentity);
});

Deno.test("Leader refuses a second run at the same time", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  await using candidate = new Candidate({ kube, namespace, identity: "a" });
  const again = candidate.leader.whileLeading(aborted)(new AbortController().signal);
  await assert.rejects(again, /twice at once/);
});

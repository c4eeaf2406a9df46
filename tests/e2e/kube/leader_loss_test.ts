import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CONFIG_MAPS } from "../../../common/api/resources.ts";
import { KubeClient } from "../../../common/kube/client.ts";
import { NotLeadingError } from "../../../common/kube/leader.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { aborted } from "../../../common/time/runnable.ts";
import { sharedProvider } from "../../support/planes/control_planes.ts";
import { type Fault, FaultProxy } from "../../support/faults/fault_proxy.ts";
import { configMap, connect, workspace } from "../../support/planes/kube.ts";
import {
  Candidate,
  LEADER_TIMING as TIMING,
  leaderLease,
} from "../../support/programs/leader_candidate.ts";

const arena = async () => await workspace(await sharedProvider(), "leader");

const TROUBLES: Record<string, Fault> = {
  "requests get no answer": { kind: "stall" },
  "connections break": { kind: "resetBefore" },
  "renewals are stored but their answers are lost": { kind: "resetAfter" },
  "calls fail with 500": { kind: "status", code: 500 },
};

Deno.test("Leader stops before the standby may act", async (t) => {
  for (const [trouble, fault] of Object.entries(TROUBLES)) {
    await t.step(`the leader's ${trouble}`, async () => {
      await using at = await arena();
      const { kube, namespace } = at;
      await using proxy = await FaultProxy.start(await sharedProvider());
      using troubled = await connect(await proxy.kubeconfig());
      await using first = new Candidate({ kube: troubled.kube, namespace, identity: "a" });
      await first.runs();
      await using standby = new Candidate({ kube, namespace, identity: "b" });
      proxy.faults = () => fault;
      let lastAllowedAt = 0;
      await eventually("the standby leads", () => {
        if (first.leader.isLeading) {
          first.leader.assertLeading();
          lastAllowedAt = performance.now();
        }
        return standby.isRunning;
      }, { everyMs: 5 });
      const [takenOverAt = 0] = standby.startedAt;
      const [stoppedAt = Infinity] = first.stoppedAt;
      const marginMs = TIMING.leaseMs - TIMING.renewDeadlineMs;
      assert.ok(takenOverAt - lastAllowedAt > marginMs / 2, `${takenOverAt - lastAllowedAt} ms`);
      assert.ok(takenOverAt - stoppedAt > marginMs / 2, `${takenOverAt - stoppedAt} ms`);
      assert.throws(() => first.leader.assertLeading(), NotLeadingError);
      proxy.faults = () => undefined;
      await standby.stop();
      await first.runs(2); // it kept campaigning
      assert.deepEqual(first.changes, [true, false, true]);
    });
  }
});

Deno.test("Leader keeps the lead over a short outage", async (t) => {
  for (const [trouble, fault] of Object.entries(TROUBLES)) {
    if (fault.kind === "stall") continue; // a stall lasts until the deadline
    await t.step(trouble, async () => {
      await using at = await arena();
      const { kube, namespace } = at;
      await using proxy = await FaultProxy.start(await sharedProvider());
      using troubled = await connect(await proxy.kubeconfig());
      await using candidate = new Candidate({ kube: troubled.kube, namespace, identity: "a" });
      await candidate.runs();
      const before = proxy.arrivals.length;
      proxy.faults = ({ method }) =>
        method === "PUT" && proxy.arrivals.length < before + 3 ? fault : undefined;
      await eventually(
        "a renewal failed",
        () => candidate.said.includes("cannot renew the lease"),
      );
      proxy.faults = () => undefined;
      const { spec } = await leaderLease(kube, namespace);
      await eventually(
        "renewals go on",
        async () => (await leaderLease(kube, namespace)).spec?.renewTime !== spec?.renewTime,
      );
      assert.deepEqual(candidate.changes, [true]);
    });
  }
});

Deno.test("Leader.assertLeading() throws after a pause, before any timer has fired", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  let pausedMs = 0;
  const reasons: unknown[] = [];
  const now = () => performance.now() + pausedMs;
  await using candidate = new Candidate({ kube, namespace, identity: "a", now }, async (signal) => {
    await aborted(signal);
    reasons.push(signal.reason);
  });
  await candidate.runs();
  candidate.leader.assertLeading();
  pausedMs = TIMING.renewDeadlineMs;
  assert.ok(!candidate.leader.isLeading);
  let refusal: unknown;
  assert.throws(() => candidate.leader.assertLeading(), (error) => {
    refusal = error;
    return error instanceof NotLeadingError;
  });
  await candidate.runs(2);
  assert.deepEqual(reasons, [refusal], "the refusal itself ends the term");
  candidate.leader.assertLeading();
});

Deno.test("KubeClient with Leader.assertLeading() sends no write after a pause", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  let pausedMs = 0;
  const outcome = Promise.withResolvers<unknown>();
  const now = () => performance.now() + pausedMs;
  const candidate: Candidate = new Candidate(
    { kube, namespace, identity: "a", now },
    async (signal) => {
      const guarded = new KubeClient(kube.transport, () => candidate.leader.assertLeading());
      const create = (name: string) =>
        guarded.create(CONFIG_MAPS, configMap(namespace, name), FIELD_MANAGERS.issuer);
      await create("in-time");
      pausedMs += TIMING.renewDeadlineMs;
      outcome.resolve(await create("late").catch((error) => error));
      await aborted(signal);
    },
  );
  assert.ok(await outcome.promise instanceof NotLeadingError);
  await candidate.stop();
  const names = (await kube.list(CONFIG_MAPS, { namespace })).map(({ metadata }) => metadata.name);
  assert.ok(names.includes("in-time") && !names.includes("late"), names.join());
});

Deno.test("a leader that was paused beyond its lease writes nothing until it leads again", async () => {
  await using at = await arena();
  const { kube, namespace } = at;
  await using proxy = await FaultProxy.start(await sharedProvider());
  const script = fileURLToPath(
    new URL("../../support/programs/leader_process.ts", import.meta.url),
  );
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-lock", "-A", "-q", script, await proxy.kubeconfig(), namespace, "paused"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const writes = () => proxy.arrivals.filter(({ path }) => path.includes("/configmaps/")).length;
  const looks = () => proxy.arrivals.filter(({ method }) => method === "GET").length;
  try {
    await eventually("it leads and writes", () => writes() > 10);
    await using standby = new Candidate({ kube, namespace, identity: "standby" });
    process.kill("SIGSTOP");
    await standby.runs();
    const [writesBefore, looksBefore] = [writes(), looks()];
    process.kill("SIGCONT");
    await eventually("it campaigns again", () => looks() >= looksBefore + 3);
    assert.equal(writes(), writesBefore);
    await standby.stop();
    await eventually("it leads and writes again", () => writes() > writesBefore);
    process.kill("SIGTERM");
    assert.equal((await process.status).code, 0);
    assert.ok(!(await leaderLease(kube, namespace)).spec?.holderIdentity, "it is still held");
  } finally {
    try {
      process.kill("SIGKILL");
    } catch {
      // it has ended already
    }
    await process.status;
  }
});

import assert from "node:assert/strict";
import type { AuditEvent } from "../../../scripts/controlplane/audit_events.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";
import {
  acquiredAfter,
  isDone,
  isElection,
  Replica,
  writesBy,
} from "../../support/worlds/replica_world.ts";
import { writeOf } from "../../support/faults/write_gate.ts";

const TAKEOVER = { timeoutMs: 40_000 };
const RENEW_DEADLINE_MS = 10_000;

// Started outside the tests: Deno would report them as a leak of the test that starts them.
const world = await IssuerWorld.start();
await world.stop();
const first = await Replica.start(world, "first");
await first.leads();
const second = await Replica.start(world, "second");
await second.standsBy();
Deno.test.afterAll(async () => {
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const grantMany = (who: string) =>
  Promise.all(Array.from({ length: 10 }, (_, index) => world.grant({ who: `${who}-${index}` })));

const renewals = (writes: readonly AuditEvent[]): AuditEvent[] =>
  writes.filter((write) => isElection(write) && isDone(write));

/** Asserts that the old leader stopped writing before the next one began, and stayed silent. */
async function assertNoOverlap(old: Replica, next: Replica, since: string): Promise<void> {
  const oldWrites = await writesBy(world, old);
  const acquired = acquiredAfter(await writesBy(world, next), since);
  const later = oldWrites.filter(({ requestReceivedTimestamp: at }) => at > acquired);
  assert.deepEqual(later, [], "the old leader wrote after the takeover");
  const lastRenewal = renewals(oldWrites).at(-1)?.requestReceivedTimestamp ?? "";
  const graceMs = Date.parse(acquired) - Date.parse(lastRenewal);
  assert.ok(graceMs > RENEW_DEADLINE_MS, `the Lease was taken ${graceMs} ms after a renewal`);
}

/** Stops a replica between a write and its answer, so that it has work left when it resumes. */
function stopAtNext(what: string, { proxy, backend }: Replica): Promise<void> {
  const { promise, resolve: stopped } = Promise.withResolvers<void>();
  proxy.faults = (arrival) => {
    if (writeOf(arrival)?.what !== what) return undefined;
    return {
      kind: "gate",
      pass: async (forward) => {
        await forward();
        proxy.faults = () => undefined;
        backend.signal("SIGSTOP");
        stopped();
        return true;
      },
    };
  };
  return promise;
}

Deno.test("a leader that was stopped until its Lease expired writes nothing after it resumes", async () => {
  const since = new Date().toISOString();
  const stopped = stopAtNext("create namespaces", first);
  const before = await grantMany("before");
  await stopped;
  const during = await grantMany("during");
  await second.leads(TAKEOVER);
  for (const grant of [...before, ...during]) await world.ready(grant);

  first.backend.signal("SIGCONT");
  await first.standsBy();
  await world.ready(await world.grant({ who: "after" })); // the old leader sees this, too
  await assertNoOverlap(first, second, since);
  assert.equal(await first.readiness(), "200 ok");
  assert.equal(await second.masterStatus(), 1);
});

Deno.test("a leader that loses the API server stops writing, and becomes a standby", async () => {
  const since = new Date().toISOString();
  second.proxy.faults = () => ({ kind: "resetBefore" });
  second.proxy.watches.cut();
  const during = await grantMany("cut");
  await first.leads(TAKEOVER);
  assert.equal(await second.masterStatus(), 0);
  for (const grant of during) await world.ready(grant);

  second.proxy.faults = () => undefined;
  await second.standsBy(2);
  await eventually("the old leader is ready", async () => await second.readiness() === "200 ok");
  await world.ready(await world.grant({ who: "afterwards" }));
  await assertNoOverlap(second, first, since);
  assert.equal(await first.masterStatus(), 1);
});

import assert from "node:assert/strict";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { Outage } from "./outage.ts";

/** Makes an Outage whose provider and clock the test controls. */
function world() {
  const clock = { ms: 1_000 };
  const probes: PromiseWithResolvers<void>[] = [];
  const outage = new Outage({
    now: () => clock.ms,
    timing: { limitMs: 60_000, pauseMs: 1 },
    probe: (signal) => {
      const probe = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => probe.reject(signal.reason), { once: true });
      probes.push(probe);
      return probe.promise;
    },
  });
  const stop = new AbortController();
  const run = outage.run(stop.signal);
  return {
    clock,
    outage,
    /** Resolves with the nth probe once it is sent. */
    probe: (nth: number) => eventually(`probe ${nth} is sent`, () => probes[nth], { everyMs: 1 }),
    sent: () => probes.length,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the test is over"));
      await run;
    },
  };
}

Deno.test("Outage lasts from the first failed call until a probe is answered", async () => {
  await using at = world();
  assert.equal(at.outage.brokenForMs(), undefined);
  at.outage.begin();
  assert.equal(at.outage.brokenForMs(), 0);
  at.clock.ms += 4_000;
  at.outage.begin(); // a second failed call changes nothing
  assert.equal(at.outage.brokenForMs(), 4_000);
  (await at.probe(0)).reject(new Error("no answer"));
  (await at.probe(1)).reject(new Error("no answer"));
  const last = await at.probe(2);
  assert.equal(at.outage.brokenForMs(), 4_000);
  last.resolve();
  await eventually("it is over", () => at.outage.brokenForMs() === undefined, { everyMs: 1 });
  assert.equal(at.sent(), 3);
});

Deno.test("Outage can happen again, and makes no calls in between", async () => {
  await using at = world();
  for (const nth of [0, 1]) {
    assert.equal(at.sent(), nth);
    at.outage.begin();
    at.clock.ms += 7;
    assert.equal(at.outage.brokenForMs(), 7);
    (await at.probe(nth)).resolve();
    await eventually("it is over", () => at.outage.brokenForMs() === undefined, { everyMs: 1 });
  }
});

Deno.test("Outage.run() returns at shutdown, also while it waits for an answer", async () => {
  await using at = world();
  at.outage.begin();
  await at.probe(0);
});

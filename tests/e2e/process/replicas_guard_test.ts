import assert from "node:assert/strict";
import { INSPECTABLE, Inspector } from "../../support/programs/inspector.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";
import {
  acquiredAfter,
  isElection,
  Replica,
  writesBy,
} from "../../support/worlds/replica_world.ts";

const TAKEOVER = { timeoutMs: 40_000 };
/** The function that checks the leadership before each write. */
const LAST_CHECK = "assertLeading(){";
/** How many writes succeed before the freeze. */
const WRITES_BEFORE = 2;

// Started outside the tests: Deno would report them as a leak of the test that starts them.
const world = await IssuerWorld.start();
await world.stop();
const first = await Replica.start(world, "first", { denoFlags: INSPECTABLE });
await first.leads();
const second = await Replica.start(world, "second");
await second.standsBy();
Deno.test.afterAll(async () => {
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

Deno.test("a leader that was frozen right before a write does not send it after it resumes", async () => {
  const since = new Date().toISOString();
  await using inspector = await Inspector.attach(first.backend);
  const breakpointId = await inspector.haltAfter(LAST_CHECK);
  const grant = await world.grant({ who: "ada" });
  for (let writes = 1; writes <= WRITES_BEFORE; writes++) {
    await inspector.halted(writes);
    await inspector.ask("Debugger.resume");
  }
  await inspector.halted(WRITES_BEFORE + 1);
  // The connection is open. The last check of the clock is done, and no byte is sent yet.
  first.backend.signal("SIGSTOP");
  await second.leads(TAKEOVER);
  await world.ready(grant);

  first.backend.signal("SIGCONT");
  await inspector.ask("Debugger.removeBreakpoint", { breakpointId });
  await inspector.ask("Debugger.resume");
  await first.standsBy();
  await world.ready(await world.grant({ who: "bob" })); // the old leader sees this, too

  const writes = await writesBy(world, first);
  const own = writes.filter((write) =>
    !isElection(write) && write.requestReceivedTimestamp > since
  );
  assert.ok(own.length >= WRITES_BEFORE, "the leader was frozen in the middle of its work");
  const acquired = acquiredAfter(await writesBy(world, second), since);
  const late = writes.filter(({ requestReceivedTimestamp: at }) => at > acquired);
  assert.deepEqual(late.map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}`), []);
  const { reason } = await first.backend.logged("leadership lost");
  assert.equal(reason, "the last renewal is too long ago", "a timer ended the leadership first");
});

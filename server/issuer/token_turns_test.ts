import assert from "node:assert/strict";
import { boundaryName, FIELD_MANAGERS, LABELS, tokenSecretName } from "../../common/api/names.ts";
import { exportCache, grantCache } from "../provider/caches.ts";
import { ACCOUNT_UID_ANNOTATION } from "./grant_objects.ts";
import { issuerCaches } from "./issued_caches.ts";
import { TokenTurns } from "./token_turns.ts";

/** Makes TokenTurns with caches of their own, and records the Grants that they wake. */
function world({ perFill = 1_000 } = {}) {
  const caches = issuerCaches({ grants: grantCache(), exports: exportCache() });
  const woken: string[] = [];
  let now = 0;
  let version = 0;
  const turns = new TokenTurns({ caches, now: () => now, wake: (grant) => woken.push(grant) });
  const secret = (grant: string, namespace: string, annotations = {}) => {
    const labels = { [LABELS.grant]: grant };
    const resourceVersion = `${++version}`;
    const name = tokenSecretName(grant);
    const metadata = { name, namespace, resourceVersion, labels, annotations };
    caches.secrets.learn({ metadata }, FIELD_MANAGERS.issuer);
  };
  const grant = (name: string) => {
    const metadata = { name, resourceVersion: `${++version}` };
    const spec = { identity: { subject: "ada" }, exportName: "widgets", apis: [] };
    caches.grants.learn({ metadata, spec }, FIELD_MANAGERS.gateway);
  };
  return {
    turns,
    woken,
    pass: (ms: number) => now += ms,
    /** Adds a Grant and its unfilled Secret. */
    ask(name: string) {
      grant(name);
      secret(name, boundaryName("ada"));
    },
    /** Adds an unfilled Secret before its Grant, as caches may do. */
    remember(name: string) {
      secret(name, boundaryName("ada"));
      grant(name);
    },
    fill(name: string) {
      now += perFill;
      secret(name, boundaryName("ada"), { [ACCOUNT_UID_ANNOTATION]: "1" });
    },
    /** Adds an unfilled Secret with the label of a Grant in another namespace. */
    plant: (grant: string) => secret(grant, "elsewhere"),
    /** Takes all available turns. */
    takeAll: () => {
      let count = 0;
      while (turns.tryTake(`all-${count}`, true)) count++;
      return count;
    },
  };
}

/** Takes three of the minimum of four turns. */
function withOneTurn() {
  const made = world();
  for (const grant of ["x", "y", "z"]) made.ask(grant);
  return made;
}

Deno.test("TokenTurns counts unfilled Secrets and those being created", () => {
  const { turns, ask, fill } = withOneTurn();
  const turn = turns.tryTake("a", false);
  assert.ok(turn);
  assert.ok(!turns.tryTake("b", false));
  ask("a");
  turn[Symbol.dispose]();
  assert.ok(!turns.tryTake("b", false), "the Secret of a is unfilled now");
  fill("a");
  assert.ok(turns.tryTake("b", false));
});

Deno.test("TokenTurns does not count Secrets of tenants", () => {
  const { turns, ask, plant } = withOneTurn();
  for (const grant of ["x", "y", "z", "unknown"]) plant(grant);
  assert.ok(turns.tryTake("a", false));
  ask("a");
  plant("a");
  assert.ok(!turns.tryTake("b", false), "the Secret elsewhere does not replace that of a");
});

Deno.test("TokenTurns finds the unfilled Secrets of an earlier process when it starts", async () => {
  const { turns, plant, takeAll, remember } = world();
  for (const grant of ["x", "y"]) remember(grant);
  plant("x");
  await turns.run(AbortSignal.abort());
  assert.equal(takeAll(), 2);
});

Deno.test("TokenTurns wakes as many as there are turns, urgent ones first", () => {
  const { turns, woken, ask, fill } = withOneTurn();
  ask("w");
  for (const grant of ["a", "b", "c"]) assert.ok(!turns.tryTake(grant, false));
  assert.ok(!turns.tryTake("d", true));
  turns.tick();
  assert.deepEqual(woken, [], "there is no turn");
  fill("w");
  fill("x");
  assert.deepEqual(woken, ["d", "a"]);
  assert.ok(turns.tryTake("d", true));
  assert.ok(turns.tryTake("a", false));
  fill("y");
  assert.deepEqual(woken, ["d", "a", "b"]);
});

Deno.test("TokenTurns keeps the turn of a woken urgent Grant from others", () => {
  const { turns, woken, ask, fill } = withOneTurn();
  ask("w");
  assert.ok(!turns.tryTake("urgent", true));
  fill("w");
  assert.deepEqual(woken, ["urgent"]);
  assert.ok(!turns.tryTake("quick", false));
  assert.ok(turns.tryTake("urgent", true));
});

Deno.test("TokenTurns hands on the turn of a woken Grant that did not ask again", () => {
  const { turns, woken, ask, fill } = withOneTurn();
  ask("w");
  assert.ok(!turns.tryTake("a", true));
  assert.ok(!turns.tryTake("b", false));
  fill("w");
  assert.deepEqual(woken, ["a"]);
  turns.tick();
  assert.deepEqual(woken, ["a", "b"]);
  turns.tick();
  assert.deepEqual(woken, ["a", "b"], "nobody waits any more");
});

Deno.test("TokenTurns hands on the turn of a Secret that could not be created", () => {
  const { turns, woken } = withOneTurn();
  const turn = turns.tryTake("a", false);
  assert.ok(!turns.tryTake("b", false));
  turn?.[Symbol.dispose]();
  assert.deepEqual(woken, ["b"]);
});

/** Fills fifty Secrets, waits, and returns how many turns there are. */
function turnsAfterFifty(perFill: number, waitMs = 0) {
  const { ask, fill, pass, takeAll } = world({ perFill });
  for (let filled = 0; filled < 50; filled++) {
    ask(`g-${filled}`);
    fill(`g-${filled}`);
  }
  pass(waitMs);
  return takeAll();
}

Deno.test("TokenTurns allows as many unfilled Secrets as were filled in half a second, within bounds", () => {
  assert.equal(world().takeAll(), 4);
  const limits = [1, 20, 25, 50, 100, 250, 1_000].map((perFill) => turnsAfterFifty(perFill));
  assert.deepEqual(limits, [20, 20, 20, 10, 5, 4, 4]);
});

Deno.test("TokenTurns forgets the fill rate of earlier times", () => {
  const limits = [0, 250, 500].map((waitMs) => turnsAfterFifty(20, waitMs));
  assert.deepEqual(limits, [20, 13, 4]);
});

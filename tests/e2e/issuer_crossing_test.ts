import assert from "node:assert/strict";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { EXPORTS, type Grant, GRANTS, isReady } from "../../server/api/resources.ts";
import { CrashWorld } from "../support/crash_world.ts";
import { boundaryOf, grantFor, WIDGETS } from "../support/issuer_samples.ts";

const GADGETS = "gadgets.example.org";

// Before any test, so that no test is charged with processes it does not end.
const world = await CrashWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { provider, gate, proxy } = world;
await provider.define(GADGETS);

/** What watches brought while they were held; it comes with the next that they bring. */
let held: string[] | undefined;
const late: string[] = [];
const pass = (line: string): string[] => {
  if (!held) return [...late.splice(0), line];
  held.push(line);
  return [];
};
proxy.faults = (arrival) =>
  arrival.isWatch && /\/(grants|exports)\?/.test(arrival.path)
    ? { kind: "lines", pass }
    : gate.faults(arrival);
await world.succeed();

/**
 * Lets somebody else change an object right before a status is written to it, and lets the answer
 * of that write overtake the event of the change.
 */
async function overtaken(
  what: string,
  create: () => Promise<unknown>,
  change: () => Promise<unknown>,
): Promise<void> {
  const inspect = gate.inspect;
  let isChanged = false;
  gate.inspect = async (write) => {
    if (!isChanged && write.what === what) {
      isChanged = true;
      held = [];
      await change();
    }
    return await inspect(write);
  };
  gate.passed.length = 0;
  await create();
  await eventually("the status is written", () => gate.passed.includes(what));
  gate.inspect = inspect;
}

/** Lets the events through that were held, once the backend has read the answer. */
async function release(answered: string): Promise<void> {
  await world.backend.logged(answered);
  late.push(...held ?? []);
  held = undefined;
  await provider.grant({ who: crypto.randomUUID() });
}
void isReady;
void assert;
void EXPORTS;
void boundaryOf;
void WIDGETS;

Deno.test("issuer() revokes a Grant that is deleted while its status is written", async () => {
  const grant: Grant = grantFor({ who: "ada" });
  const { name } = grant.metadata;
  await overtaken(
    "patch grants/status",
    () => provider.grant({ who: "ada" }),
    () => provider.kube.delete(GRANTS, { name }),
  );
  await release("Grant provisioned");
  await world.revoked(grant);
});

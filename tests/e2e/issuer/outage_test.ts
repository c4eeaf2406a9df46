import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { type Grant, GRANTS } from "../../../common/api/resources.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
const world = await IssuerWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { kube, plane: { apiServer, controllerManager } } = world;

const MANY = 40;

const grantMany = (who: string): Promise<Grant[]> =>
  Promise.all(Array.from({ length: MANY }, (_, index) => world.grant({ who: `${who}-${index}` })));

const removed = ({ metadata: { name } }: Grant): Promise<void> => kube.delete(GRANTS, { name });

const allReady = (grants: readonly Grant[]): Promise<unknown> =>
  Promise.all(grants.map((grant) => world.ready(grant)));

async function allGone(grants: readonly Grant[]): Promise<void> {
  for (const grant of grants) {
    const { name } = grant.metadata;
    await eventually(`Grant ${name} is gone`, async () => !await kube.find(GRANTS, { name }));
    const left = await world.issuedObjects(grant);
    assert.deepEqual([...left.keys()], ["Namespace"], "the boundary stays");
  }
}

/** Counts the log lines with this message; lines after the kill are about work done before. */
const timesLogged = (message: string): number =>
  world.backend.log.filter(({ msg }) => msg === message).length;

/** Gives the backend much work at once, and kills the API server when it has begun. */
async function killDuring<T>(message: string, addWork: () => Promise<T>): Promise<T> {
  const before = timesLogged(message);
  world.backend.signal("SIGSTOP");
  const added = await addWork();
  world.backend.signal("SIGCONT");
  await eventually("the work has begun", () => timesLogged(message) > before, { everyMs: 1 });
  await apiServer.kill();
  const done = timesLogged(message) - before;
  assert.ok(done < MANY, `all ${done} were done before the kill`);
  return added;
}

Deno.test("issuer() goes on after the API server was killed and restarted", async (t) => {
  let grants: Grant[] = [];

  await t.step("during provisioning", async () => {
    grants = await killDuring("Grant provisioned", () => grantMany("ada"));
    await apiServer.start();
    await allReady([...grants, await world.grant({ who: "first-after" })]);
  });

  await t.step("during revocation", async () => {
    await killDuring("Grant revoked", () => Promise.all(grants.map(removed)));
    await apiServer.start();
    const late = await world.grant({ who: "second-after" });
    await allGone(grants);
    await world.ready(late);
  });

  await t.step("after twelve seconds, without waiting for a long back-off", async () => {
    const failuresBefore = timesLogged("reconcile failed");
    grants = await killDuring("Grant provisioned", () => grantMany("bob"));
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    await apiServer.start();
    await controllerManager.restart(); // it has a long back-off of its own
    await allReady(grants);
    const failures = timesLogged("reconcile failed") - failuresBefore;
    assert.ok(failures <= 3 * MANY, `${failures} attempts failed`);
  });

  assert.equal(timesLogged("starting"), 1, "the backend was restarted");
});

import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { type Grant, GRANTS } from "../../../common/api/resources.ts";
import { CrashWorld, isRefused } from "../../support/worlds/crash_world.ts";
import { customType, WIDGETS } from "../../support/planes/issuer_samples.ts";
import { killPoints, pointText } from "../../support/faults/write_gate.ts";

// Started outside the tests: Deno would report it as a leak of the test that starts it.
const world = await CrashWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { provider } = world;

const RIGHTS = ["clusterrolebindings", "clusterroles", "rolebindings", "roles"];

const deleteGrant = ({ metadata: { name } }: Grant) => provider.kube.delete(GRANTS, { name });

const errorsOf = () => world.backend.log.filter(({ level }) => level === "error");

Deno.test("issuer() finishes its work after a kill at any write", async (t) => {
  const bystander = await provider.grant({ who: "bystander" });
  await provider.ready(bystander);
  await world.beat(bystander);
  const before = await world.versionsOf(bystander);

  const provisioning = await world.writesOf(async () => {
    await world.provisioned(await provider.grant({ who: "recorded" }));
  });
  await t.step("provisioning begins with finalizer and boundary, and ends with the status", () => {
    assert.deepEqual(provisioning.slice(0, 2).sort(), ["create namespaces", "patch grants"]);
    assert.deepEqual(
      provisioning.slice(2, -1).sort(),
      ["secrets", "serviceaccounts", ...RIGHTS].map((kind) => `create ${kind}`).sort(),
    );
    assert.equal(provisioning.at(-1), "patch grants/status");
  });

  const revocation = await world.writesOf(async () => {
    const grant = await provider.grant({ who: "recorded", exportName: "other" });
    await provider.ready(grant);
    await world.beat(grant);
    await world.gate.settled();
    world.gate.passed.length = 0;
    await deleteGrant(grant);
    await world.revoked(grant);
  });
  await t.step("revocation begins with the rights and ends with the finalizer", () => {
    assert.deepEqual(revocation.slice(0, 4).sort(), RIGHTS.map((kind) => `delete ${kind}`).sort());
    assert.deepEqual(revocation.slice(4), [
      "delete secrets",
      "delete serviceaccounts",
      "delete leases",
      "patch grants",
    ]);
  });

  const revocationPoints = killPoints(revocation);
  for (const [round, point] of killPoints(provisioning).entries()) {
    let grant: Grant | undefined;
    await t.step(`provisioning, killed ${pointText(point)}`, async () => {
      grant = await world.killedAt(point, () => provider.grant({ who: `victim-${round}` }));
      await world.succeed();
      await world.provisioned(grant);
      assert.deepEqual(errorsOf(), []);
    });

    const later = revocationPoints[round % revocationPoints.length];
    if (!grant || !later) continue;
    const issued = grant;
    await t.step(`revocation, killed ${pointText(later)}`, async () => {
      using consumer = await provider.issued(issued);
      await world.beat(issued);
      await world.killedAt(later, () => deleteGrant(issued));
      await world.succeed();
      await world.revoked(issued);
      await eventually(
        "the token is refused",
        () => isRefused(consumer.kube.list(customType(WIDGETS))),
      );
      assert.deepEqual(errorsOf(), []);
    });
  }

  await t.step("the finalizer went last", () => assert.deepEqual(world.violations, []));
  await t.step("the credentials of another Grant did not change", async () => {
    assert.deepEqual(await world.versionsOf(bystander), before);
  });
});

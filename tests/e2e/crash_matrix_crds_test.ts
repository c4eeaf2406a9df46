import assert from "node:assert/strict";
import { eventually } from "../../scripts/controlplane/eventually.ts";
import { serviceCrds } from "../../server/api/crd_manifests.ts";
import { CRDS, EXPORTS, GRANTS } from "../../server/api/resources.ts";
import { contains } from "../../server/kube/crds.ts";
import { FIELD_MANAGERS } from "../../server/names.ts";
import { Backend } from "../support/backend.ts";
import { ownPlane } from "../support/control_planes.ts";
import { FaultProxy } from "../support/fault_proxy.ts";
import { connect } from "../support/kube.ts";
import { killPoints, pointText, WriteGate } from "../support/write_gate.ts";

// Before any test, so that no test is charged with processes it does not end.
const plane = await ownPlane();
const admin = await connect(plane);
const gate = new WriteGate();
const proxy = await FaultProxy.start(plane);
proxy.faults = gate.faults;
Deno.test.afterAll(async () => {
  admin[Symbol.dispose]();
  await proxy[Symbol.asyncDispose]();
  await plane[Symbol.asyncDispose]();
});

const { kube } = admin;
const NAMES = serviceCrds().map(({ metadata }) => metadata.name).sort();
/** Installs the CRDs, and that is all. */
const FLAGS = ["--enable-gateway=false", "--enable-issuer=false"];

const install = async () => {
  return await Backend.start(plane, { flags: FLAGS, kubeconfig: await proxy.kubeconfig() });
};

/** Installs to the end, which writes no more than this. */
async function installed(most: number): Promise<string[]> {
  gate.open();
  gate.passed.length = 0;
  await using backend = await install();
  assert.equal(await backend.ended(), 0, backend.lines.join("\n"));
  assert.ok(gate.passed.length <= most, gate.passed.join());
  const stored = await kube.list(CRDS);
  assert.deepEqual(stored.map(({ metadata }) => metadata.name), NAMES);
  for (const crd of serviceCrds()) {
    assert.ok(contains(stored.find(({ metadata }) => metadata.name === crd.metadata.name), crd));
  }
  await Promise.all([kube.list(EXPORTS), kube.list(GRANTS)]); // and they are served
  return [...gate.passed];
}

/** What an installation may find. */
const BEGINNINGS: Record<string, () => Promise<unknown>> = {
  "where nothing is": async () => {
    for (const { metadata: { name } } of await kube.list(CRDS)) await kube.delete(CRDS, { name });
    const areGone = async () => (await kube.list(CRDS)).length === 0;
    // The API server takes its time with one that was deleted before it was served.
    await eventually("all are gone", areGone, { timeoutMs: 180_000 });
  },
  "over what somebody has edited": async () => {
    for (const { metadata: { name, resourceVersion = "" } } of await kube.list(CRDS)) {
      const patch = { metadata: { resourceVersion }, spec: { names: { categories: ["edited"] } } };
      await kube.mergePatch(CRDS, { name }, patch, FIELD_MANAGERS.installer);
    }
  },
};

Deno.test("xbind-backend killed at any write of a CRD installs all of them when it is back", async (t) => {
  for (const [beginning, begin] of Object.entries(BEGINNINGS)) {
    await begin();
    const writes = await installed(NAMES.length);
    assert.deepEqual(writes, NAMES.map(() => "patch customresourcedefinitions"));
    for (const point of killPoints(writes)) {
      await t.step(`${beginning}, killed ${pointText(point)}`, async () => {
        await begin();
        {
          await using victim = await install();
          gate.ambush(point, () => victim.signal("SIGKILL"));
          assert.equal(await victim.ended(), 137);
        }
        await installed(NAMES.length);
        assert.deepEqual(await installed(0), [], "there was nothing left to do");
      });
    }
  }
});

import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { Grant } from "../../../common/api/resources.ts";
import { sleep } from "../../../common/time/wait.ts";
import { Backend } from "../../support/programs/backend.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";

// Before any test, so that no test is charged with processes it does not end.
const world = await IssuerWorld.start();
await world.stop();
const proxy = await FaultProxy.start(world.plane);
const backend = await Backend.start(world.plane, {
  flags: ["--enable-gateway=false"],
  kubeconfig: await proxy.kubeconfig(),
});
await backend.logged("issuing");
Deno.test.afterAll(async () => {
  await backend[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const MANY = 20;
const OUTAGE_MS = 20_000;
/** Three times what is promised, for a machine that is busy with other things. */
const SOON = { timeoutMs: 30_000 };
const { etcd } = world.plane;

/** How often the backend said something. */
const timesLogged = (message: string): number =>
  backend.log.filter(({ msg }) => msg === message).length;

/** What may happen to etcd while the API server and its watches stand. */
const OUTAGES: { name: string; begin: () => Promise<unknown>; end: () => void }[] = [
  {
    name: "does not answer",
    begin: () => etcd.pause(),
    end: () => etcd.resume(),
  },
  {
    name: "is said to be gone, at once and each time",
    begin: () => {
      proxy.faults = ({ isWatch }) => isWatch ? undefined : { kind: "status", code: 500 };
      return Promise.resolve();
    },
    end: () => proxy.faults = () => undefined,
  },
];

for (const { name, begin, end } of OUTAGES) {
  Deno.test(`issuer() is at work soon after the end of an outage in which etcd ${name}`, async () => {
    const failedBefore = timesLogged("reconcile failed");
    backend.signal("SIGSTOP");
    const who = crypto.randomUUID();
    const grants: Grant[] = await Promise.all(
      Array.from({ length: MANY }, (_, index) => world.grant({ who: `${who}-${index}` })),
    );
    await begin();
    backend.signal("SIGCONT");
    await sleep(OUTAGE_MS);
    await eventually("each was tried", () => {
      return timesLogged("reconcile failed") - failedBefore >= MANY;
    });
    end();
    await Promise.all(grants.map((grant) => world.ready(grant, SOON)));
    assert.equal(timesLogged("a watch broke"), 0);
    const failures = timesLogged("reconcile failed") - failedBefore;
    assert.ok(failures <= MANY * 12, `${failures} attempts failed`);
  });
}

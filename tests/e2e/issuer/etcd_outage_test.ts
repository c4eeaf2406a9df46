import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { Grant } from "../../../common/api/resources.ts";
import { sleep } from "../../../common/time/wait.ts";
import { Backend } from "../../support/programs/backend.ts";
import { FaultProxy } from "../../support/faults/fault_proxy.ts";
import { IssuerWorld } from "../../support/worlds/issuer_world.ts";

// Booted outside the tests, because Deno fails a test that leaves a process running.
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
/** Three times the promised time, because the machine may be busy. */
const SOON = { timeoutMs: 30_000 };
const { etcd } = world.plane;

/** Counts the log lines with this message. */
const timesLogged = (message: string): number =>
  backend.log.filter(({ msg }) => msg === message).length;

/** Outages of etcd in which the API server keeps its watches open. */
const OUTAGES: { name: string; begin: () => Promise<unknown>; end: () => void }[] = [
  {
    name: "does not answer",
    begin: () => etcd.pause(),
    end: () => etcd.resume(),
  },
  {
    name: "fails every call",
    begin: () => {
      proxy.faults = ({ isWatch }) => isWatch ? undefined : { kind: "status", code: 500 };
      return Promise.resolve();
    },
    end: () => proxy.faults = () => undefined,
  },
];

for (const { name, begin, end } of OUTAGES) {
  Deno.test(`issuer() provisions Grants soon after an outage in which etcd ${name}`, async () => {
    const failedBefore = timesLogged("reconcile failed");
    backend.signal("SIGSTOP");
    const who = crypto.randomUUID();
    const grants: Grant[] = await Promise.all(
      Array.from({ length: MANY }, (_, index) => world.grant({ who: `${who}-${index}` })),
    );
    await begin();
    backend.signal("SIGCONT");
    await sleep(OUTAGE_MS);
    await eventually("the issuer tried each Grant", () => {
      return timesLogged("reconcile failed") - failedBefore >= MANY;
    });
    end();
    await Promise.all(grants.map((grant) => world.ready(grant, SOON)));
    assert.equal(timesLogged("a watch broke"), 0);
    const failures = timesLogged("reconcile failed") - failedBefore;
    assert.ok(failures <= MANY * 12, `${failures} attempts failed`);
  });
}

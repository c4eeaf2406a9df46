import assert from "node:assert/strict";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../../common/api/names.ts";
import { LEASES, SECRETS } from "../../../common/api/resources.ts";
import { sleep } from "../../../common/time/wait.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { Side } from "../../support/faults/kill_matrix.ts";
import {
  type FaultSite,
  KONNECTOR_FAULTS,
  type KonnectorFault,
  LONG_KONNECTOR_FAULTS,
} from "../../support/faults/konnector_faults.ts";
import { boundaryOf } from "../../support/planes/issuer_samples.ts";
import { uniqueName } from "../../support/planes/kube.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import { keyIn } from "../../support/worlds/konnector_steps.ts";
import { KonnectorWorld, secretOf } from "../../support/worlds/konnector_world.ts";
import { type Instance, isGone } from "../../support/worlds/two_sides.ts";
import { RandomCopies, rulesFor } from "../../support/worlds/random_copies.ts";
import { FOR_UID, SyncObserver } from "../../support/worlds/sync_observer.ts";

const world = await KonnectorWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { consumer, provider } = world;
const label = uniqueName("fault");
const bound = await world.bind("fault", { relatedResources: rulesFor(label) });
const copies = new RandomCopies(world, label, bound.namespace, 1);
const { type } = bound;
const at = (name: string) => keyIn(bound, name);

const secretKey = secretOf(bound).metadata;
const kubeconfig = secretOf(bound).stringData?.["kubeconfig"] ?? "";
const { server } = world.address;

async function patchSecret(change: object): Promise<void> {
  await eventually("the Secret is changed", async () => {
    const { metadata: { resourceVersion = "" } } = await consumer.kube.get(SECRETS, secretKey);
    const { metadata = {}, ...rest } = change as { metadata?: object };
    const patch = { ...rest, metadata: { ...metadata, resourceVersion } };
    return await consumer.kube.mergePatch(SECRETS, secretKey, patch, FIELD_MANAGERS.installer);
  });
}

const siteOf = (side: Side): FaultSite => ({
  plane: side === "consumer" ? world.consumerPlane : world.providerPlane,
  proxy: side === "consumer" ? world.consumerProxy : world.providerProxy,
  redirect: (to = server) =>
    patchSecret({ stringData: { kubeconfig: kubeconfig.replace(server, to) } }),
  touchSecret: () =>
    patchSecret({ metadata: { annotations: { "example.org/touched": crypto.randomUUID() } } }),
  signal: (signal) => world.konnector.signal(signal),
});

/** Retries a change while its API server is away. */
const surely = <T>(what: string, change: () => Promise<T>): Promise<T> =>
  eventually(what, async () => ({ is: await change() }), { timeoutMs: 60_000 })
    .then(({ is }) => is);

/** Sets the status of a copy, with the UID of the object that it is for. */
async function showStatus(name: string, phase: string): Promise<void> {
  await surely(`a status of ${name}`, async () => {
    const { metadata } = await provider.kube.get(type, at(name));
    const status = { [FOR_UID]: metadata.annotations?.[ANNOTATIONS.consumerObjectUid], phase };
    await world.edit("provider", bound, name, { status }, "status");
  });
}

/** The objects of one round, which are there before the fault. */
const NAMES = ["edited", "deleted", "again", "shown", "drifted"] as const;

const SOURCE_CHANGES = 12;

/** Changes objects on both sides, while a fault may delay it. */
async function changeThings(round: number): Promise<void> {
  const name = (which: string) => `${which}-${round}`;
  await Promise.all([
    surely("create", () => world.create(bound, name("made"), { spec: { size: round } })),
    surely("edit", () => world.edit("consumer", bound, name("edited"), { spec: { size: -1 } })),
    surely("delete", () => consumer.kube.delete(type, at(name("deleted")))),
    surely("drift", () => world.edit("provider", bound, name("drifted"), { spec: { size: 99 } })),
    showStatus(name("shown"), "During"),
    remake(name("again")),
    changeSources(),
  ]);
}

/** Changes Secrets and ConfigMaps that are copied. */
async function changeSources(): Promise<void> {
  for (let i = 0; i < SOURCE_CHANGES; i++) await copies.useSource();
}

/** Deletes an object, and creates another of its name as soon as it is gone. */
async function remake(name: string): Promise<void> {
  await surely("delete", () => consumer.kube.delete(type, at(name)));
  await isGone(consumer.kube, type, at(name), { timeoutMs: 120_000 });
  await surely("create again", () => world.create(bound, name, { spec: { size: 5 } }));
}

/** Waits until both sides agree on every object of the round, and new changes arrive. */
async function converges(round: number, timeoutMs: number): Promise<void> {
  const name = (which: string) => `${which}-${round}`;
  const hasSize = (size: number) => ({ spec }: Instance) => spec?.["size"] === size;
  const isOn = async (side: Side, which: string, is: (object: Instance) => boolean) => {
    const { kube } = side === "consumer" ? consumer : provider;
    let last: Instance | undefined;
    await eventually(`${which} on the ${side}`, async () => {
      return is(last = await kube.get(type, at(name(which))));
    }, { timeoutMs }).catch((error) => assert.fail(`${error}: ${JSON.stringify(last)}`));
  };
  await isOn("provider", "made", hasSize(round));
  await isOn("provider", "edited", hasSize(-1));
  await isOn("provider", "drifted", hasSize(1));
  await isOn("consumer", "shown", ({ status }) => status?.["phase"] === "During");
  for (const { kube } of [consumer, provider]) {
    await isGone(kube, type, at(name("deleted")), { timeoutMs });
  }
  const { metadata: { uid } } = await consumer.kube.get(type, at(name("again")));
  await isOn("provider", "again", ({ metadata }) => {
    return metadata.annotations?.[ANNOTATIONS.consumerObjectUid] === uid;
  });
  let differences: string[] = [];
  await eventually("all related objects are copied", async () => {
    return (differences = await copies.differences()).length === 0;
  }, { timeoutMs }).catch((error) => assert.fail(`${error}: ${differences.join("; ")}`));
  await showStatus(name("again"), "After");
  await isOn("consumer", "again", ({ status }) => status?.["phase"] === "After");
}

/** Runs one fault while objects change, and waits until both sides agree. Returns when it ended. */
async function suffer(fault: KonnectorFault, sites: FaultSite[], round: number): Promise<number> {
  for (const name of NAMES) await world.create(bound, `${name}-${round}`);
  for (const name of NAMES) await world.onProvider(type, at(`${name}-${round}`));
  await showStatus(`again-${round}`, "Before");
  await Promise.all(sites.map((site) => fault.begin(site)));
  const changes = changeThings(round);
  try {
    await Promise.race([sleep(fault.lastsMs), changes.then(() => sleep(fault.lastsMs))]);
  } finally {
    await Promise.all(sites.map((site) => fault.end(site)));
  }
  const endedAt = Date.now();
  await changes;
  await converges(round, 30_000 + (fault.lingersMs ?? 0));
  return endedAt;
}

/** Returns the faults of this run, each with the places where it happens. */
function rows(): [fault: KonnectorFault, on: readonly Side[]][] {
  return everyDayOrSoak(
    () => KONNECTOR_FAULTS.map((fault): [KonnectorFault, readonly Side[]] => [fault, fault.on]),
    () =>
      [...KONNECTOR_FAULTS, ...LONG_KONNECTOR_FAULTS].flatMap((fault) => {
        const sides = fault.soakOn ?? (["consumer", "provider"] as const);
        const places: (readonly Side[])[] = sides.map((side) => [side]);
        if (sides.length > 1) places.push(sides);
        return places.map((on): [KonnectorFault, readonly Side[]] => [fault, on]);
      }),
  )();
}

Deno.test("a konnector loses and repeats nothing in faults of its clusters", async (t) => {
  await using observer = await SyncObserver.start(world, bound);
  observer.guard(await world.createForeign(bound, "foreign"));
  await world.create(bound, "foreign");
  let endedAt = 0;
  for (const [round, [fault, on]] of rows().entries()) {
    await t.step(`${fault.name}, on the ${on.join(" and the ")}`, async () => {
      endedAt = await suffer(fault, on.map(siteOf), round);
      assert.deepEqual([...await observer.violations(), ...copies.violations], []);
    });
  }
  await t.step("heartbeats arrive again", async () => {
    const { name } = bound;
    await eventually("the heartbeat is renewed", async () => {
      const leases = await provider.kube.list(LEASES, { namespace: boundaryOf(bound.grant) });
      const lease = leases.find(({ metadata }) => {
        return metadata.annotations?.[ANNOTATIONS.connection] === name;
      });
      return Date.parse(lease?.spec?.renewTime ?? "") > endedAt;
    }, { timeoutMs: 45_000, everyMs: 200 });
  });
  await t.step("nothing is written at rest", async () => {
    const writes = await world.writesDuring(() => sleep(3_000));
    assert.deepEqual(writes, { consumer: [], provider: [] });
  });
  assert.deepEqual(await observer.violations(), []);
  const { log } = world.konnector;
  assert.equal(log.filter(({ msg }) => msg === "starting").length, 1, "it did not restart");
  assert.deepEqual(log.filter(({ msg }) => msg === "a failure was not handled"), []);
});

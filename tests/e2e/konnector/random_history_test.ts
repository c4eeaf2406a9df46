import assert from "node:assert/strict";
import { CLUSTER_BINDINGS, SECRETS } from "../../../common/api/resources.ts";
import { sleep } from "../../../common/time/wait.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { uniqueName } from "../../support/planes/kube.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import { KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import type { Instance } from "../../support/worlds/two_sides.ts";
import { RandomCopies, rulesFor } from "../../support/worlds/random_copies.ts";
import { randomFrom } from "../../support/worlds/random_from.ts";
import { RandomHistory } from "../../support/worlds/random_history.ts";
import { RelatedSteps } from "../../support/worlds/related_steps.ts";
import { FOR_UID, SyncObserver } from "../../support/worlds/sync_observer.ts";

/** `XBIND_TEST_SEED=<number>` repeats what a failed run did, as far as timing allows. */
const SEED = Number(Deno.env.get("XBIND_TEST_SEED") ?? Math.floor(Math.random() * 2 ** 31));
const ROUND_MS = everyDayOrSoak(12_000, 20_000);
const ROUNDS = everyDayOrSoak(1, 12);
const LONGEST_PAUSE_MS = 150;

const world = await KonnectorWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());

/** What does random things, and knows how they must end. */
interface History {
  readonly done: readonly string[];
  step(): Promise<void>;
  kill(): Promise<void>;
  differences(): Promise<string[]>;
}

/** Runs a history in rounds. Both clusters must agree after each of them. */
async function play(
  t: Deno.TestContext,
  history: History,
  violations: () => Promise<readonly string[]>,
  /** The names of the konnector's queues for the objects of the history. */
  queues: readonly string[],
): Promise<void> {
  const random = randomFrom(SEED + 1);
  for (let round = 1; round <= ROUNDS; round++) {
    await t.step(`round ${round}`, async () => {
      const from = history.done.length;
      const told = (what: string) =>
        `${what}\nseed ${SEED}, after:\n${history.done.slice(from).join("\n")}`;
      try {
        const end = performance.now() + ROUND_MS;
        while (performance.now() < end) {
          await history.step();
          await sleep(random() * LONGEST_PAUSE_MS);
        }
        await history.kill(); // a new konnector looks at conflicts at once
        let last: string[] = [];
        await eventually("both clusters agree", async () => {
          return (last = await history.differences()).length === 0;
        }, { timeoutMs: 60_000 }).catch((error) => assert.fail(`${error}: ${last.join("; ")}`));
        assert.deepEqual(await violations(), []);
      } catch (error) {
        throw new Error(told(String(error)), { cause: error });
      }
    });
  }
  await t.step("nothing is written at rest", async () => {
    await atRest(queues);
    const writes = await world.writesDuring(() => sleep(2_000));
    assert.deepEqual(writes, { consumer: [], provider: [] });
  });
}

/** Waits until the konnector that was started last has worked off what it found. */
async function atRest(queues: readonly string[]): Promise<void> {
  await eventually("the syncs know both sides", async () => {
    const depths = await metricLines("workqueue_depth{");
    return queues.every((name) => depths.some((line) => line.includes(`name="${name}"`)));
  });
  let last = "";
  await eventually("the konnector is at rest", async () => {
    const bindings = await world.consumer.kube.list(CLUSTER_BINDINGS);
    const versions = bindings.map(({ metadata }) => metadata.resourceVersion);
    const before = last;
    last = [...await metricLines("workqueue_"), ...versions].join();
    return last === before;
  }, { everyMs: 1_000 });
}

async function metricLines(start: string): Promise<string[]> {
  return (await world.konnector.metrics()).split("\n").filter((line) => line.startsWith(start));
}

Deno.test("random histories of users, providers and crashes end as they must", async (t) => {
  const bound = await world.bind("random");
  const namespaces = [bound.namespace, await world.namespace("random")];
  await using observer = await SyncObserver.start(world, bound);
  await using history = new RandomHistory(world, bound, observer, namespaces, SEED);
  await play(t, history, () => observer.violations(), [`sync/${bound.api}`]);
});

Deno.test("random histories of related objects end as they must", async (t) => {
  const label = uniqueName("random");
  const relatedResources = rulesFor(label);
  const bound = await world.bind("related", { relatedResources });
  const history = new RandomCopies(world, label, bound.namespace, SEED);
  await play(t, history, () => Promise.resolve(history.violations), [
    `sync/${bound.api}`,
    ...relatedResources.map(({ resource, direction }) =>
      `related/${resource}/${direction}/${bound.name}`
    ),
  ]);
});

Deno.test("the observer and the models notice what a konnector does wrong", async () => {
  const label = uniqueName("wrong");
  const bound = await world.bind("wrong", { relatedResources: rulesFor(label) });
  const { type, namespace } = bound;
  const { provider } = world;
  await using observer = await SyncObserver.start(world, bound);
  await using history = new RandomHistory(world, bound, observer, [namespace], SEED);
  const copies = new RandomCopies(world, label, namespace, SEED);
  await history.create(bound, "a");
  const copy = await world.onProvider<Instance>(type, { namespace, name: "a" });
  await world.kill();
  const sees = (text: RegExp) =>
    eventually(`it sees ${text}`, async () => {
      return (await observer.violations()).some((each) => text.test(each));
    });

  const foreign = await world.createForeign(bound, "b");
  observer.guard(foreign);
  assert.deepEqual(await observer.violations(), []);
  await world.edit("provider", bound, "b", { spec: { size: 8 } });
  await sees(/the foreign object .* was changed/);
  await provider.kube.delete(type, { namespace, name: "b" });
  await sees(/the foreign .* was deleted/);
  await world.edit("consumer", bound, "a", { status: { [FOR_UID]: "another" } }, "status");
  await sees(/has the status of another/);
  await world.edit("provider", bound, "a", { "metadata/labels": {} });
  await world.edit("consumer", bound, "a", { "metadata/finalizers": [] });
  const unmarked = (await history.differences()).join();
  assert.match(unmarked, /\/a has no finalizer/);
  assert.match(unmarked, /\/a has a copy without our labels/);
  const { annotations = {} } = copy.metadata;
  await world.createForeign(bound, "c", {}, { annotations });
  await sees(/has the copies/);
  assert.match((await history.differences()).join(), /\/c is left/);
  await provider.kube.delete(type, { namespace, name: "a" });
  await sees(/was deleted, and its object lives/);
  assert.match((await history.differences()).join(), /\/a has no copy/);

  const secrets = () => provider.kube.list(SECRETS, { namespace });
  for (let i = 0; i < 40; i++) await copies.useSource();
  await eventually("a Secret of the provider, and a source without a copy", async () => {
    await copies.useSource(); // by chance no source has the label
    const isMissing = /has no copy/.test((await copies.differences()).join());
    return isMissing && (await secrets()).length > 0;
  });
  assert.deepEqual(copies.violations, []);
  const related = new RelatedSteps(world);
  for (const { metadata } of await secrets()) {
    await related.write("provider", "secrets", metadata, "changed");
  }
  await copies.differences();
  assert.match(copies.violations.join(), /secrets .* on the provider: .* became/);
});

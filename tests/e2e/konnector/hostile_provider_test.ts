import assert from "node:assert/strict";
import { ANNOTATIONS } from "../../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  condition,
  CONNECTIONS,
  CRDS,
  isReady,
  type KubeObject,
} from "../../../common/api/resources.ts";
import { bundleFor, bundleObjects, providerKubeconfig } from "../../../common/consumer/bundle.ts";
import { toYaml } from "../../../common/yaml.ts";
import { sleep } from "../../../common/time/wait.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { plainCrd, startHostileProvider } from "../../support/peers/hostile_provider.ts";
import { customType } from "../../support/planes/issuer_samples.ts";
import { uniqueName } from "../../support/planes/kube.ts";
import { everyDayOrSoak } from "../../support/planes/soak.ts";
import { ProcessView } from "../../support/programs/process_view.ts";
import { type Bound, KonnectorWorld } from "../../support/worlds/konnector_world.ts";
import { isGone } from "../../support/worlds/two_sides.ts";
import { rule } from "../../support/worlds/related_steps.ts";
import { HOSTILE_STATUSES } from "../../testdata/hostile_statuses.ts";
import {
  ghostReads,
  HOSTILE_PROVIDERS,
  type HostileProvider,
} from "../../testdata/hostile_providers.ts";

const world = await KonnectorWorld.start();
Deno.test.afterAll(() => world[Symbol.asyncDispose]());
const { consumer, provider } = world;

/** The container's limit is 512 MiB. */
const MOST_MEMORY = 400 * 1024 * 1024;

/** A hostile provider that is bound. */
interface Attack extends HostileProvider {
  readonly name: string;
  readonly boundApis: readonly string[];
}

/** Binds a hostile provider; unbinding it needs no answer of it. */
async function attack(hostile: HostileProvider, index: number): Promise<Attack> {
  const name = `hostile-${index}`;
  const boundApis = Array.from(
    { length: hostile.apis ?? 1 },
    (_, api) => `traps${api}.hostile${index}.example.org`,
  );
  const server = await startHostileProvider(boundApis, hostile.answers);
  Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  const access = { server: server.url, caData: btoa(server.caPem), token: "bait" };
  const kubeconfig = toYaml([providerKubeconfig({ ...access, namespace: "boundary" })]);
  const apis = boundApis.map((api) => ({ name: api }));
  const relatedResources = hostile.copies ? [rule(hostile.copies, "FromProvider")] : [];
  const bundle = bundleFor(name, kubeconfig, { apis, relatedResources });
  const annotations = { [ANNOTATIONS.deletionPolicy]: "Orphan" };
  const binding = { ...bundle.binding, metadata: { name, annotations } };
  await world.apply(bundleObjects({ ...bundle, binding }));
  return { ...hostile, name, boundApis };
}

/** Creates an object, and waits for its copy and its status. */
async function syncs(bound: Bound): Promise<void> {
  const name = uniqueName("object");
  const { type, namespace } = bound;
  await world.create(bound, name);
  await world.onProvider(type, { namespace, name });
  await world.edit("provider", bound, name, { status: { phase: "Up" } }, "status");
  await world.onConsumer(type, { namespace, name }, ({ status }) => status?.["phase"] === "Up");
}

Deno.test("hostile providers harm only themselves", async (t) => {
  const good = await world.bind("good");
  await syncs(good);
  const attacks: Attack[] = [];
  for (const [index, hostile] of HOSTILE_PROVIDERS.entries()) {
    attacks.push(await attack(hostile, index));
  }
  await t.step("others sync, and can be bound", async () => {
    await syncs(good);
    await syncs(await world.bind("late"));
  });
  for (const { what, name, ends: [kind, reason] } of attacks) {
    await t.step(`${what}: ${kind} ${reason}`, async () => {
      const type = kind === "Connection" ? CONNECTIONS : CLUSTER_BINDINGS;
      let last: unknown;
      await eventually(`${kind} has ${reason}`, async () => {
        const found = await consumer.kube.get<KubeObject>(type, { name });
        last = condition(found, "Ready");
        return condition(found, "Ready")?.reason === reason;
      }).catch((error) => assert.fail(`${error}: ${JSON.stringify(last)}`));
      const { status } = await consumer.kube.get(CONNECTIONS, { name });
      assert.ok((status?.exportedAPIs?.length ?? 0) <= 100);
      assert.ok(JSON.stringify(status).length < 100_000);
    });
  }
  await t.step("objects of their APIs harm nothing", async () => {
    const namespace = await world.namespace("bait");
    for (const { boundApis: [api = ""], ends: [, reason] } of attacks) {
      if (reason !== "AsExpected") continue;
      await world.create({ type: customType(api) as Bound["type"], namespace }, "bait");
    }
    await syncs(good);
  });
  await t.step("what no read finds is read less and less often", async () => {
    await eventually("three reads", () => ghostReads.length >= 3);
    const [, second = 0, third = 0] = ghostReads; // the second comes 5 s after the first
    assert.ok(third - second > 9_000, `read at ${ghostReads}`);
  });
  await t.step("memory stays bounded", () => {
    const used = new ProcessView(world.konnector.pid).peakResidentBytes();
    assert.ok(used < MOST_MEMORY, `${Math.round(used / 1024 / 1024)} MiB`);
  });
  await t.step("they can be unbound", async () => {
    for (const { name } of attacks) {
      await consumer.kube.delete(CLUSTER_BINDINGS, { name });
      await consumer.kube.delete(CONNECTIONS, { name });
    }
    for (const { name, what } of attacks) {
      await isGone(consumer.kube, CLUSTER_BINDINGS, { name }).catch(() => assert.fail(what));
      await isGone(consumer.kube, CONNECTIONS, { name }).catch(() => assert.fail(what));
    }
    const left = (await consumer.kube.list(CRDS)).map(({ metadata }) => metadata.name);
    assert.deepEqual(left.filter((name) => name.includes("hostile")), []);
  });
  await t.step("others still sync", () => syncs(good));
  const { log } = world.konnector;
  assert.equal(log.filter(({ msg }) => msg === "starting").length, 1, "it did not restart");
  assert.deepEqual(log.filter(({ msg }) => msg === "a failure was not handled"), []);
  assert.equal(
    (await provider.kube.list(CRDS)).some(({ metadata }) => {
      return metadata.name.includes("hostile");
    }),
    false,
  );
});

const OFFERED = Array.from({ length: 150 }, (_, index) => `offer${index}s.offers.example.org`);
/** Installing 100 CRDs takes long, so in everyday runs all are refused. */
const OFFERED_CRD = everyDayOrSoak(() => "null", plainCrd);

Deno.test("at most 100 APIs of a provider are bound and pulled by themselves", async () => {
  const name = "generous";
  await using server = await startHostileProvider([], { exports: OFFERED, crd: OFFERED_CRD });
  const access = { server: server.url, caData: btoa(server.caPem), token: "bait" };
  const kubeconfig = toYaml([providerKubeconfig({ ...access, namespace: "boundary" })]);
  const { secret, connection } = bundleFor(name, kubeconfig, { apis: [] });
  const wishes = { autoBind: true, schema: { pullPolicy: "All" } };
  const made = { ...connection, spec: { ...connection.spec, ...wishes } };
  await world.apply([secret, made as KubeObject]);
  const found = await world.hasCondition(
    CONNECTIONS,
    { name },
    "AutoBound",
    "False",
    "TooManyAPIs",
  );
  assert.match(condition(found, "AutoBound")?.message ?? "", /50 APIs more than the 100/);
  const { spec } = await consumer.kube.get(CLUSTER_BINDINGS, { name });
  assert.equal(spec.apis.length, 100);
  await everyDayOrSoak(() => Promise.resolve(), () => arePulled(name))();
  const crds = (await consumer.kube.list(CRDS)).map(({ metadata }) => metadata.name);
  const bound = spec.apis.map((api) => api.name);
  const pulled = crds.filter((each) => OFFERED.includes(each));
  assert.deepEqual(pulled.sort(), everyDayOrSoak([], bound.sort()));
  await consumer.kube.delete(CONNECTIONS, { name });
  await isGone(consumer.kube, CONNECTIONS, { name }, { timeoutMs: 60_000 });
});

/** Waits until all CRDs that there is room for are installed, and the others are reported. */
async function arePulled(name: string): Promise<void> {
  await eventually("the cap is reported", async () => {
    const found = await consumer.kube.get(CONNECTIONS, { name });
    return condition(found, "SchemaInSync")?.reason === "TooManyAPIs";
  }, { timeoutMs: 120_000 });
  await eventually("all are bound", async () => {
    return isReady(await consumer.kube.get(CLUSTER_BINDINGS, { name }));
  }, { timeoutMs: 120_000 });
}

/** Fields in which the translation to generations of the consumer shows. */
const withoutGenerations = (status: unknown): string =>
  JSON.stringify(status, (key, value) => key === "observedGeneration" ? undefined : value);

Deno.test("hostile statuses arrive as they are, and harm nothing", async (t) => {
  const bound = await world.bind("status");
  const { type, namespace } = bound;
  for (const [index, [what, status]] of HOSTILE_STATUSES.entries()) {
    await t.step(what, async () => {
      const key = { namespace, name: `status-${index}` };
      await world.create(bound, key.name);
      await world.onProvider(type, key);
      const { status: sent } = await world.edit("provider", bound, key.name, { status }, "status");
      await eventually(`the status of ${key.name}`, async () => {
        const { status: got } = await consumer.kube.get(type, key);
        return got && withoutGenerations(got) === withoutGenerations(sent);
      });
    });
  }
  await t.step("copies with many labels and annotations are still synced", async () => {
    const key = { namespace, name: "labelled" };
    await world.create(bound, key.name);
    const { metadata } = await world.onProvider(type, key);
    const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`l${i}`, `${i}`]));
    await world.edit("provider", bound, key.name, {
      "metadata/labels": { ...many, ...metadata.labels },
    });
    await world.edit("provider", bound, key.name, {
      "metadata/annotations": { ...metadata.annotations, huge: "x".repeat(200_000) },
    });
    await world.edit("consumer", bound, key.name, { spec: { size: 2 } });
    await world.onProvider(type, key, ({ spec }) => spec?.["size"] === 2);
  });
  await t.step("nothing is written at rest", async () => {
    const writes = await world.writesDuring(() => sleep(2_000));
    assert.deepEqual(writes, { consumer: [], provider: [] });
  });
});

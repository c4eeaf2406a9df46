import { eventually } from "../scripts/controlplane/eventually.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import { CRDS } from "../common/api/resources.ts";
import { Cache } from "../common/kube/cache.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { wholeObjects } from "../common/kube/follow.ts";
import { sleep } from "../common/time/wait.ts";
import { crdFor, customType } from "../tests/support/planes/issuer_samples.ts";
import { running } from "../tests/support/planes/kube.ts";
import {
  type Bound,
  type Instance,
  KonnectorWorld,
} from "../tests/support/worlds/konnector_world.ts";
import { type Figure, latencies, median, ms, percentile, timed } from "./figure.ts";
import { inTurn } from "./in_turn.ts";
import type { Run } from "./scenario.ts";

const MANAGER = FIELD_MANAGERS.cli;
const WAIT_MS = 30_000;
const IN_FLIGHT = 32;
const FINALIZER = "bench.example.org/raw";
/** About 2 kB, as objects of real services have. */
const PADDING = "x".repeat(1_500);

/** A world with one bound API, and what both sides show of it. */
interface Bench extends AsyncDisposable {
  readonly world: KonnectorWorld;
  readonly bound: Bound;
  readonly objects: Cache<Instance>;
  readonly copies: Cache<Instance>;
  /** The same API under a name that is not bound, for the raw client. */
  readonly raw: Pick<Bound, "type" | "namespace">;
}

async function startBench(): Promise<Bench> {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await KonnectorWorld.startDirect());
  const bound = await world.bind("bench");
  const raw = await defineRaw(world, bound);
  const objects = new Cache(wholeObjects(bound.type));
  const copies = new Cache(wholeObjects(bound.type));
  stack.use(await running(objects, world.consumer.kube));
  stack.use(await running(copies, world.provider.kube));
  // The first object of a namespace costs one more call.
  await world.create(bound, "first");
  await world.onProvider(bound.type, { namespace: bound.namespace, name: "first" });
  const kept = stack.move();
  return { world, bound, raw, objects, copies, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function defineRaw(world: KonnectorWorld, { namespace }: Bound): Promise<Bench["raw"]> {
  const api = "raws.bench.example.org";
  for (const { kube } of [world.consumer, world.provider]) {
    await kube.create(CRDS, crdFor(api, {}), MANAGER);
    await eventually(`${api} is served`, () => kube.list(customType(api)).then(() => true));
  }
  return { type: customType(api) as Bound["type"], namespace };
}

const content = (size: number) => ({ spec: { size, text: PADDING } });

/** Measures how long changes take from one side to the other, beside one raw apply. */
export async function* benchKonnectorLatency({ sized, progress }: Run): AsyncGenerator<Figure> {
  await using bench = await startBench();
  const { world, bound, raw, objects, copies } = bench;
  const { type, namespace } = bound;
  const none = (): number[] => [];
  const samples = { raw: none(), create: none(), edit: none(), status: none(), gone: none() };
  const rounds = sized(60, 300);
  progress(`${rounds} objects, one after the other`);
  for (let i = 0; i < rounds; i++) {
    const key = { namespace, name: `object-${i}` };
    samples.raw.push(await rawApply(world.provider.kube, raw, i));
    samples.create.push(
      await passed(() => world.create(bound, key.name, content(i)), copies, key, () => true),
    );
    samples.edit.push(
      await passed(
        () => world.edit("consumer", bound, key.name, { spec: { size: -1 } }),
        copies,
        key,
        ({ spec }) => spec?.["size"] === -1,
      ),
    );
    samples.status.push(
      await passed(
        () => world.edit("provider", bound, key.name, { status: { phase: "Ready" } }, "status"),
        objects,
        key,
        ({ status }) => status?.["phase"] === "Ready",
      ),
    );
    const { uid } = objects.get(key)?.metadata ?? {};
    await world.consumer.kube.delete(type, key);
    samples.gone.push(
      await timed(() => objects.waitForAbsence(key, uid, AbortSignal.timeout(WAIT_MS))),
    );
  }
  const base = median(samples.raw);
  yield figure("new object on the consumer to its copy", samples.create, base, 2.6, 10);
  yield figure("edit on the consumer to its copy", samples.edit, base, 1.6);
  yield figure("status on the provider to the consumer", samples.status, base, 1.6);
  yield figure("delete on the consumer to gone on both sides", samples.gone, base, 3);
}

const figure = (
  name: string,
  samples: readonly number[],
  raw: number,
  most: number,
  mostP99 = Infinity,
): Figure => {
  const [p50, p99] = [median(samples) / raw, percentile(samples, 0.99) / raw];
  const limit = mostP99 < Infinity ? `, p99 ≤ ${mostP99} ×: ${p99.toFixed(1)} ×` : "";
  return {
    name,
    measured: latencies(samples),
    comparedTo: `one raw apply ${ms(raw)}`,
    goal: `p50 ≤ ${most} ×: ${p50.toFixed(2)} ×${limit}`,
    met: p50 <= most && p99 <= mostP99,
  };
};

/** Measures one apply of an object of the same size, as a raw client makes it. */
async function rawApply(
  kube: KubeClient,
  { type, namespace }: Bench["raw"],
  i: number,
): Promise<number> {
  const metadata = { name: "raw", namespace };
  const apiVersion = `${type.group}/${type.version}`;
  const object = { apiVersion, kind: type.kind, metadata, ...content(i) } as Instance;
  return await timed(() => kube.apply(type, object, MANAGER));
}

/** Measures from the answer of a write on one side to its effect on the other. */
async function passed(
  write: () => Promise<unknown>,
  seen: Cache<Instance>,
  key: { readonly namespace: string; readonly name: string },
  predicate: (object: Instance) => boolean,
): Promise<number> {
  const arrival = seen.waitFor(key, predicate, AbortSignal.timeout(WAIT_MS))
    .then(() => performance.now());
  await write();
  const start = performance.now();
  return Math.max(await arrival - start, 0);
}

/** Measures new objects a second, beside a raw client that makes the same writes. */
export async function* benchKonnectorThroughput({ sized, progress }: Run): AsyncGenerator<Figure> {
  await using bench = await startBench();
  const { world } = bench;
  const count = sized(500, 2_000);
  const rates = { ours: [] as number[], raw: [] as number[] };
  for (let turn = 0; turn < 3; turn++) {
    progress(`${count} objects, ${IN_FLIGHT} in flight, turn ${turn + 1}`);
    rates.ours.push(count / await synced(bench, count, `ours-${turn}`) * 1_000);
    rates.raw.push(count / await rawWrites(world, bench.raw, count, `raw-${turn}`) * 1_000);
  }
  const [ours, raw] = [median(rates.ours), median(rates.raw)];
  yield {
    name: `new objects, ${IN_FLIGHT} in flight`,
    measured: `${ours.toFixed(0)}/s`,
    comparedTo: `a raw client with the same writes ${raw.toFixed(0)}/s`,
    goal: `≥ 60 %: ${(100 * ours / raw).toFixed(0)} %`,
    met: ours / raw >= 0.6,
  };
}

async function synced(
  { world, bound, copies }: Bench,
  count: number,
  prefix: string,
): Promise<number> {
  const { namespace } = bound;
  return await timed(async () => {
    await inTurn(count, IN_FLIGHT, (i) => world.create(bound, `${prefix}-${i}`, content(i)));
    await inTurn(
      count,
      count,
      (i) =>
        copies.waitFor(
          { namespace, name: `${prefix}-${i}` },
          () => true,
          AbortSignal.timeout(120_000),
        ),
    );
  });
}

/** Creates each object on the consumer, patches it, and applies a copy on the provider. */
async function rawWrites(
  { consumer, provider }: KonnectorWorld,
  { type, namespace }: Bench["raw"],
  count: number,
  prefix: string,
): Promise<number> {
  const apiVersion = `${type.group}/${type.version}`;
  return await timed(() =>
    inTurn(count, IN_FLIGHT, async (i) => {
      const key = { name: `${prefix}-${i}`, namespace };
      const object = { apiVersion, kind: type.kind, metadata: key, ...content(i) } as Instance;
      await consumer.kube.create(type, object, MANAGER);
      const finalizers = { op: "add" as const, path: "/metadata/finalizers", value: [FINALIZER] };
      await consumer.kube.jsonPatch(type, key, [finalizers], { manager: MANAGER });
      await provider.kube.apply(type, object, MANAGER);
    })
  );
}

/** Measures the first sync of many objects, a restart with them, and memory. */
export async function* benchKonnectorScale({ full, sized, progress }: Run): AsyncGenerator<Figure> {
  await using bench = await startBench();
  const { world, bound, raw, copies } = bench;
  const { namespace } = bound;
  const count = sized(1_000, 10_000);
  await sleep(10_000);
  const idle = await residentMb(world);
  yield {
    name: "resident memory of an idle konnector",
    measured: `${idle.toFixed(0)} MB`,
    comparedTo: "",
    goal: "≤ 90 MB",
    met: idle <= 90,
  };

  progress(`making ${count} objects without a konnector`);
  await world.kill();
  await inTurn(count, IN_FLIGHT, (i) => world.create(bound, `many-${i}`, content(i)));
  progress(`the first sync of ${count} objects`);
  await world.restart();
  const answers: number[] = [];
  const meanwhile: number[] = [];
  const start = performance.now();
  const isDone = () => copies.size >= count;
  const watching = (async () => {
    for (let i = 0; !isDone(); i++) {
      await sleep(500);
      if (i % 4 !== 2) continue;
      const name = `user-${i}`;
      const key = { namespace, name };
      meanwhile.push(
        await passed(() => world.create(bound, name, content(i)), copies, key, () => true),
      );
    }
  })();
  const probing = (async () => {
    const probe = `${await world.konnector.addressOf("/healthz")}/healthz`;
    while (!isDone()) {
      answers.push(await timed(async () => await (await fetch(probe)).text()));
      await sleep(20);
    }
  })();
  await eventually("all objects are synced", isDone, { timeoutMs: 600_000, everyMs: 100 });
  const firstMs = performance.now() - start;
  await Promise.all([watching, probing]);
  const raws = [];
  for (let i = 0; i < 20; i++) raws.push(await rawApply(world.provider.kube, raw, i));
  const mostMs = 10 * median(raws) + 100;
  yield {
    name: `first sync of ${count} objects`,
    measured: `${(firstMs / 1_000).toFixed(1)} s, ${(count / firstMs * 1_000).toFixed(0)}/s`,
    comparedTo: "",
    goal: full ? "≤ 150 s" : "(information)",
    ...(full ? { met: firstMs <= 150_000 } : {}),
  };
  yield {
    name: "answers of /healthz during the first sync",
    measured: latencies(answers),
    comparedTo: "they wait for other work of the process",
    goal: `p99 ≤ 50 ms`,
    met: percentile(answers, 0.99) <= 50,
  };
  yield {
    name: "a user's new object during the first sync",
    measured: meanwhile.length > 0 ? latencies(meanwhile) : "the sync was too short",
    comparedTo: `one raw apply ${ms(median(raws))}`,
    goal: `p50 ≤ 10 × + 100 ms: ${ms(mostMs)}`,
    ...(meanwhile.length > 0 ? { met: median(meanwhile) <= mostMs } : {}),
  };
  await sleep(10_000);
  const many = await residentMb(world);

  progress(`a restart with ${count} objects`);
  let settledMs = 0;
  const { consumer, provider } = await world.writesDuring(async () => {
    const restarted = performance.now();
    await world.restart();
    await eventually("the konnector is settled", async () => {
      const objects = await metric(world, `xbind_sync_objects{api="${bound.api}"}`);
      const depth = await metric(
        world,
        `workqueue_depth{name="sync/${bound.api}",controller="sync/${bound.api}"}`,
      );
      return objects >= count && depth === 0;
    }, { timeoutMs: 120_000, everyMs: 50 });
    settledMs = performance.now() - restarted;
    await sleep(5_000);
  });
  const writes = consumer.length + provider.length;
  yield {
    name: `restart with ${count} objects`,
    measured: `settled after ${(settledMs / 1_000).toFixed(1)} s, ${writes} writes`,
    comparedTo: "",
    goal: "≤ 15 s, 0 writes",
    met: settledMs <= 15_000 && writes === 0,
  };
  await sleep(10_000);
  yield {
    name: `resident memory with ${count} objects`,
    measured: `${many.toFixed(0)} MB after the first sync, ` +
      `${(await residentMb(world)).toFixed(0)} MB after a restart`,
    comparedTo: `idle ${idle.toFixed(0)} MB`,
    goal: full ? "≤ 130 MB" : "(information)",
    ...(full ? { met: many <= 130 } : {}),
  };
}

async function metric({ konnector }: KonnectorWorld, text: string): Promise<number> {
  const answer = await fetch(`${await konnector.addressOf("/metrics")}/metrics`);
  const line = (await answer.text()).split("\n").find((each) => each.startsWith(`${text} `));
  return Number(line?.slice(text.length + 1) ?? NaN);
}

const residentMb = async (world: KonnectorWorld): Promise<number> =>
  await metric(world, "process_resident_memory_bytes") / 1e6;

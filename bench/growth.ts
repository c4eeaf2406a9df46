import { sleep } from "../common/time/wait.ts";
import { apiRequestsDuring } from "./api_requests.ts";
import { BenchBackend } from "./bench_backend.ts";
import { heartbeats } from "./consumers.ts";
import { type Figure, latencies, median, ms, type Point, timed } from "./figure.ts";
import type { GrowingProvider } from "./growing_provider.ts";
import { load, serve, type Server } from "./load.ts";
import type { Run } from "./scenario.ts";
import {
  costAtRest,
  costOfChange,
  firstAnswer,
  type View,
  type ViewCost,
  VIEWS,
} from "./view_cost.ts";

/** The number of Exports, of Grants with Leases, and of objects. */
const SIZES = [100, 1_000, 10_000];
const QUICK_SIZES = [1_000];
const FULL_PACE = { seconds: 3, turns: 3 };
const QUICK_PACE = { seconds: 1, turns: 1 };
const SETTLING_MS = 3_000;
const MOST_GROWTH = 12;
/** A 304 must not depend on the size, because its body is not built. */
const MOST_GROWTH_OF_304 = 2;

type Costs = Record<View["name"], ViewCost>;

/** Measures start, memory and views of a growing provider, beside a naive server. */
export async function* benchGrowth(run: Run): AsyncGenerator<Figure> {
  const { full, sized, progress } = run;
  const provider = await run.growingProvider();
  await using naive = await serve("naive_server.ts", provider.plane.adminKubeconfig);
  const bySize: { size: number; costs: Costs }[] = [];
  for (const step of full ? SIZES : QUICK_SIZES) {
    const size = sized(step, step);
    await provider.growTo({ exports: size, grants: size, objects: size }, progress);
    progress(`starting on ${size} of everything`);
    const start = performance.now();
    await using backend = await BenchBackend.start(provider.plane, { flags: ["--enable-reaper"] });
    await backend.ready();
    yield await startFigure(backend, size, performance.now() - start);
    const costs: Partial<Costs> = {};
    for (const view of VIEWS) {
      progress(`${view.name} of ${size}`);
      const { cost, requests } = await costOf(view, provider, backend, run);
      costs[view.name] = cost;
      yield await viewFigure(view, size, { ...cost, requests }, naive, full);
    }
    bySize.push({ size, costs: costs as Costs });
    progress(`${size} heartbeats`);
    yield await heartbeatFigure(backend, provider);
    if (full) yield await consumersFigure(provider);
  }
  yield* growthFigures(bySize, full);
}

async function startFigure(backend: BenchBackend, size: number, readyMs: number): Promise<Figure> {
  const restMs = await timed(() => backend.settled());
  await sleep(SETTLING_MS);
  const resident = await backend.residentMb();
  return {
    name: `start with ${size} Exports, Grants and Leases`,
    measured: `caches filled after ${ms(readyMs)}, ${resident.toFixed(0)} MB resident`,
    comparedTo: `every Grant looked at after ${ms(readyMs + restMs)}`,
    goal: "(information)",
    points: [
      { plot: "start", line: "caches filled, ms", size, value: readyMs },
      { plot: "memory", line: "resident, MB", size, value: resident },
    ],
  };
}

async function costOf(
  view: View,
  provider: GrowingProvider,
  { url, user, sessions }: BenchBackend,
  { full }: Run,
): Promise<{ cost: ViewCost; requests: number }> {
  const token = await sessions.seal("reader");
  const { tookMs: firstMs } = await firstAnswer(url + view.path, token);
  let atRest: Awaited<ReturnType<typeof costAtRest>> | undefined;
  const asked = await apiRequestsDuring(provider.plane, user, async () => {
    atRest = await costAtRest({ url, token }, view.path, full ? FULL_PACE : QUICK_PACE);
  });
  const rebuiltMs = await costOfChange(view, provider, { url, token }, full ? 10 : 4);
  const none = { keptMs: NaN, unchangedMs: NaN, bareMs: NaN, bytes: NaN };
  return { cost: { firstMs, rebuiltMs, ...atRest ?? none }, requests: asked.length };
}

async function viewFigure(
  { name, path }: View,
  size: number,
  cost: ViewCost & { requests: number },
  naive: Server,
  full: boolean,
): Promise<Figure> {
  const { p50: naiveMs } = await load(naive.url + path, { inFlight: 1, seconds: full ? 3 : 1 });
  const point = (line: string, value: number): Point => ({
    plot: "views",
    line: `${name}, ${line}`,
    size,
    value,
  });
  return {
    name: `${name} of ${size}, p50 of one caller`,
    measured: `kept ${ms(cost.keptMs)}, after a change ${ms(cost.rebuiltMs)}, ` +
      `304 ${ms(cost.unchangedMs)} (nothing ${ms(cost.bareMs)}), first ${
        ms(cost.firstMs)
      }; ${cost.requests} API requests`,
    comparedTo: `a list per request ${ms(naiveMs)}; ${(cost.bytes / 1000).toFixed(0)} kB`,
    goal: "0 API requests",
    met: cost.requests === 0,
    points: [
      point("kept", cost.keptMs),
      point("after a change", cost.rebuiltMs),
      point("a list per request", naiveMs),
    ],
  };
}

/** Measures what a renewal of every Lease costs a replica that only watches. */
async function heartbeatFigure(backend: BenchBackend, provider: GrowingProvider): Promise<Figure> {
  const { grants } = provider.size;
  const before = await backend.cpuSeconds();
  const tookMs = await timed(() => provider.beatAll());
  await sleep(SETTLING_MS); // until the last ones arrive
  const cpuSeconds = await backend.cpuSeconds() - before;
  return {
    name: `${grants} heartbeats, each Lease once`,
    measured: `${(1_000 * cpuSeconds / grants).toFixed(3)} ms of CPU each`,
    comparedTo: `written at ${(grants / tookMs * 1000).toFixed(0)}/s`,
    goal: "(information)",
  };
}

/** Measures how the API server finds a consumer's rights among those of all Grants. */
async function consumersFigure(provider: GrowingProvider): Promise<Figure> {
  const { grants } = provider.size;
  const { own, admin } = await heartbeats(provider, 2);
  return {
    name: `heartbeats of consumers themselves, beside ${grants} Grants`,
    measured: `${own.perSecond.toFixed(0)}/s, ${latencies(own.times)}`,
    comparedTo: `by one who may do anything ${admin.perSecond.toFixed(0)}/s, p50 ${
      ms(median(admin.times))
    }`,
    goal: "(information)",
  };
}

/** Compares the costs of the largest size with those of the size before. */
function* growthFigures(
  bySize: readonly { size: number; costs: Costs }[],
  full: boolean,
): Generator<Figure> {
  const [before, last] = bySize.slice(-2);
  if (!before || !last) return;
  for (const { name } of VIEWS) {
    const ratio = (of: (cost: ViewCost) => number) => of(last.costs[name]) / of(before.costs[name]);
    const kept = ratio(({ keptMs }) => keptMs);
    const rebuilt = ratio(({ rebuiltMs }) => rebuiltMs);
    // A 304 takes tenths of a millisecond, so compare it with a bare request at the same time.
    const unchanged = ratio(({ unchangedMs, bareMs }) => unchangedMs / bareMs);
    const isJudged = full && name !== "catalog";
    const times = (value: number) => `${value.toFixed(1)} ×`;
    yield {
      name: `${name}, p50 at ${last.size} against ${before.size}`,
      measured: `kept ${times(kept)}, after a change ${times(rebuilt)}, 304 ${times(unchanged)}`,
      comparedTo: `${(last.size / before.size).toFixed(0)} times as many objects`,
      goal: isJudged ? `≤ ${MOST_GROWTH} ×, 304 ≤ ${MOST_GROWTH_OF_304} ×` : "(information)",
      ...(isJudged
        ? { met: Math.max(kept, rebuilt) <= MOST_GROWTH && unchanged <= MOST_GROWTH_OF_304 }
        : {}),
    };
  }
}

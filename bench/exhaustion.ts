import { sleep } from "../common/time/wait.ts";
import { type Attack, ATTACKS } from "../tests/support/faults/attacks.ts";
import { ExhaustionWorld } from "../tests/support/worlds/exhaustion_world.ts";
import { ProcessView } from "../tests/support/programs/process_view.ts";
import { type Figure, latencies, ms, percentile } from "./figure.ts";

const MEASURED_MS = 5_000;
const PAUSE_MS = 10;
const MIB = 1024 * 1024;
const GOAL = { lagMs: 250, moreMib: 256 };

/** Measures the latency of other callers during each attack, and its cost for the process. */
export async function* benchExhaustion(progress: (text: string) => void): AsyncGenerator<Figure> {
  await using world = await ExhaustionWorld.start();
  await catalogTimes(world); // a freshly started process is slow
  const quiet = await catalogTimes(world);
  for (const attack of ATTACKS) {
    progress(attack.name);
    await world.renew();
    await world.othersAreServed();
    yield* figuresOf(world, attack, percentile(quiet, 0.99));
  }
}

async function* figuresOf(
  world: ExhaustionWorld,
  attack: Attack,
  quietP99: number,
): AsyncGenerator<Figure> {
  const view = new ProcessView(world.gateway.backend.pid);
  const beforeMib = view.residentBytes() / MIB;
  const peakMib = () => view.peakResidentBytes() / MIB - beforeMib;
  const times = await during(world, attack);
  const lagMs = await world.metric("xbind_event_loop_lag_seconds") * 1_000;
  const moreMib = peakMib();
  await during(world, attack); // leaked memory would be needed twice
  yield {
    name: `catalog during ${attack.name}`,
    measured: latencies(times),
    comparedTo: `undisturbed p99 ${ms(quietP99)}`,
    goal: "lag ≤ 250 ms",
    met: lagMs <= GOAL.lagMs,
  };
  yield {
    name: `cost of ${attack.name}`,
    measured: `lag ${ms(lagMs)}, ${moreMib.toFixed(0)} MiB more`,
    comparedTo: `${peakMib().toFixed(0)} MiB more when it comes again`,
    goal: `≤ ${GOAL.moreMib} MiB more`,
    met: moreMib <= GOAL.moreMib,
  };
}

async function during(world: ExhaustionWorld, attack: Attack): Promise<number[]> {
  await using _standing = await attack.begin(world);
  return await catalogTimes(world);
}

/** Measures repeated reads of the catalog on separate connections. */
async function catalogTimes(world: ExhaustionWorld): Promise<number[]> {
  const token = await world.seal("other");
  const headers = { Authorization: `Bearer ${token}` };
  using client = Deno.createHttpClient({});
  const times: number[] = [];
  const end = performance.now() + MEASURED_MS;
  while (performance.now() < end) {
    const sent = performance.now();
    await (await fetch(`${world.gateway.url}/api/catalog`, { headers, client })).text();
    times.push(performance.now() - sent);
    await sleep(PAUSE_MS);
  }
  return times;
}

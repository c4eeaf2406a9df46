import { GRANTS, SECRETS } from "../common/api/resources.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { boundaryName, FIELD_MANAGERS, tokenSecretName } from "../common/api/names.ts";
import {
  type SealedSessions,
  sealedSessions,
  sealedSubject,
} from "../tests/support/planes/sealed_sessions.ts";
import { BenchBackend } from "./bench_backend.ts";
import { type BindWorld, startBindWorld } from "./bind_world.ts";
import { type Figure, latencies, median, ms, percentile, timed } from "./figure.ts";
import { inTurn } from "./in_turn.ts";
import { RawBinds } from "./raw_binds.ts";
import { EXPORT, FAST_TOKENS } from "./samples.ts";
import type { Run } from "./scenario.ts";

const TURNS = 3;
const IN_FLIGHT = 50;
const WARM_UPS = 20;

/** Measures binds of new identities, idle, in parallel and over two replicas, beside raw calls. */
export async function* benchBind({ full, sized, progress }: Run): AsyncGenerator<Figure> {
  await using world = await startBindWorld({ controllerManager: FAST_TOKENS });
  progress("binds of new identities, one after the other, and the raw calls behind them");
  yield* idle(world, sized(40, 300), full ? 5 : 3);
  progress(`binds, ${IN_FLIGHT} in flight, and the same writes by a raw client`);
  yield* crowded(world, sized(100, 600), sized(IN_FLIGHT, 2 * IN_FLIGHT));
  if (!full) return; // the rest has no goal
  progress("binds over two replicas");
  yield await twoReplicas(world, sized(200, 200), sized(600, 600));
}

/** Times a bind of a new identity, without the creation of its session. */
async function timedBind(
  backends: readonly BenchBackend[],
  sessions: SealedSessions,
  nth: number,
): Promise<number> {
  const token = await sessions.seal(`${crypto.randomUUID()}`);
  const backend = backends[nth % backends.length] as BenchBackend;
  return await timed(() => backend.bind(token, EXPORT));
}

async function startBackend({ plane }: BindWorld): Promise<BenchBackend> {
  const backend = await BenchBackend.start(plane);
  await backend.settled();
  for (let i = 0; i < WARM_UPS; i++) await timedBind([backend], backend.sessions, i);
  return backend;
}

async function* idle(
  world: BindWorld,
  rounds: number,
  turns: number,
): AsyncGenerator<Figure> {
  const binds: number[] = [];
  const raws: number[] = [];
  const chains: number[] = [];
  const pickups: number[] = [];
  const rawPickups: number[] = [];
  // In turns, so that other load on the machine affects both.
  for (let turn = 0; turn < turns; turn++) {
    {
      await using backend = await startBackend(world);
      for (let i = 0; i < rounds / turns; i++) {
        const who = crypto.randomUUID();
        const token = await backend.sessions.seal(who);
        const start = performance.now();
        const bound = await backend.bind(token, EXPORT);
        binds.push(performance.now() - start);
        pickups.push(await timed(() => backend.pickUp(bound)));
        rawPickups.push(await timed(() => rawPickup(world.kube, bound.grant, sealedSubject(who))));
      }
    }
    await using raw = await RawBinds.start(world.kube);
    for (let i = 0; i < rounds / turns; i++) {
      raws.push((await raw.everything(crypto.randomUUID())).bindMs);
      chains.push((await raw.chain(crypto.randomUUID())).bindMs);
    }
  }
  const [p50, p99, all] = [median(binds), percentile(binds, 0.99), median(raws)];
  const ratio = (p50 / all).toFixed(2);
  yield {
    name: "bind of a new identity, idle",
    measured: latencies(binds),
    comparedTo: `the raw calls it depends on ${latencies(raws)}, their longest chain ${
      ms(median(chains))
    }`,
    goal: `p50 ≤ 1.3 ×: ${ratio} ×, ≤ 45 ms; p99 ≤ 120 ms`,
    met: p50 / all <= 1.3 && p50 <= 45 && p99 <= 120,
  };
  yield {
    name: "pickup, idle",
    measured: latencies(pickups),
    comparedTo: `its dependent raw calls p50 ${ms(median(rawPickups))}`,
    goal: `(information) ${(median(pickups) / median(rawPickups)).toFixed(2)} ×`,
  };
}

/** Makes the calls of a pickup: live read, compare-and-swap, token. */
async function rawPickup(kube: KubeClient, name: string, subject: string): Promise<void> {
  const { metadata: { resourceVersion = "" } } = await kube.get(GRANTS, { name });
  const patch = {
    metadata: { resourceVersion, annotations: { "bench/raw": crypto.randomUUID() } },
  };
  await kube.mergePatch(GRANTS, { name }, patch, FIELD_MANAGERS.gateway);
  await kube.get(SECRETS, { name: tokenSecretName(name), namespace: boundaryName(subject) });
}

/** Measures parallel binds. The first ones do not count, because a new process still compiles. */
async function* crowded(
  world: BindWorld,
  count: number,
  uncounted: number,
): AsyncGenerator<Figure> {
  const [rates, rawRates, times]: [number[], number[], number[]] = [[], [], []];
  for (let turn = 0; turn < TURNS; turn++) {
    const share = Math.ceil(count / TURNS);
    {
      await using backend = await startBackend(world);
      const bind = (i: number) => timedBind([backend], backend.sessions, i);
      await inTurn(uncounted, IN_FLIGHT, bind);
      const tookMs = await timed(() =>
        inTurn(share, IN_FLIGHT, async (i) => void times.push(await bind(i)))
      );
      rates.push(share / tookMs * 1000);
    }
    await using raw = await RawBinds.start(world.kube);
    const bind = () => raw.everything(crypto.randomUUID());
    await inTurn(uncounted, IN_FLIGHT, bind);
    const tookMs = await timed(() => inTurn(share, IN_FLIGHT, bind));
    rawRates.push(share / tookMs * 1000);
  }
  const [rate, rawRate] = [median(rates), median(rawRates)];
  yield {
    name: `bind throughput, ${IN_FLIGHT} in flight`,
    measured: `${rate.toFixed(1)}/s`,
    comparedTo: `a raw client doing the same writes ${rawRate.toFixed(1)}/s`,
    goal: `≥ 60 %: ${(100 * rate / rawRate).toFixed(0)} %`,
    met: rate / rawRate >= 0.6,
  };
  yield {
    name: `bind latency, ${IN_FLIGHT} in flight`,
    measured: latencies(times),
    comparedTo: "",
    goal: "(information)",
  };
}

async function twoReplicas(world: BindWorld, rounds: number, count: number): Promise<Figure> {
  const sessions = await sealedSessions();
  const start = () => BenchBackend.start(world.plane, { flags: ["--leader-elect"], sessions });
  await using first = await start();
  await first.backend.logged("issuing");
  await using second = await start();
  await Promise.all([first.settled(), second.ready()]);
  const both = [first, second];
  for (let i = 0; i < WARM_UPS; i++) await timedBind(both, sessions, i);
  const alone: number[] = [];
  for (let i = 0; i < rounds; i++) alone.push(await timedBind(both, sessions, i));
  const crowd: number[] = [];
  const tookMs = await timed(() =>
    inTurn(count, IN_FLIGHT, async (i) => void crowd.push(await timedBind(both, sessions, i)))
  );
  return {
    name: "bind over two replicas in turn",
    measured: `idle ${latencies(alone)}`,
    comparedTo: `${IN_FLIGHT} in flight: ${(count / tookMs * 1000).toFixed(1)}/s, ${
      latencies(crowd)
    }`,
    goal: "(information)",
  };
}

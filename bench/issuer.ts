import type { ControlPlaneOptions } from "../scripts/controlplane/control_plane.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import { GRANTS, isReady } from "../common/api/resources.ts";
import { keyOf } from "../common/kube/paths.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import { sleep } from "../common/time/wait.ts";
import { apiRequestsDuring, isWrite } from "./api_requests.ts";
import { BenchBackend } from "./bench_backend.ts";
import { type Figure, latencies, median, ms } from "./figure.ts";
import { inTurn } from "./in_turn.ts";
import { startIssuerWorld } from "./issuer_world.ts";
import { RawBinds } from "./raw_binds.ts";
import { benchResync } from "./resync.ts";
import { FAST_TOKENS, grantFor } from "./samples.ts";
import type { Run } from "./scenario.ts";

const FAST: ControlPlaneOptions = { controllerManager: FAST_TOKENS };
const ISSUER_ONLY = { flags: ["--enable-gateway=false"] };
const RESTING_MS = 5_000;
const never = new AbortController().signal;

/** Measures one Grant at a time beside its raw calls, and many Grants at rest. */
export async function* benchIssuer({ sized, progress }: Run): AsyncGenerator<Figure> {
  progress("one Grant at a time");
  yield await oneGrant(sized(30, 100));
  const count = sized(100, 2_000);
  progress(`${count} Grants at rest`);
  yield* atRest(count);
}

/** Measures a Grant from its creation to Ready, beside the same dependent raw calls. */
async function oneGrant(rounds: number): Promise<Figure> {
  await using world = await startIssuerWorld(FAST, ISSUER_ONLY);
  const { kube, grants } = world;
  const issued: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const grant = grantFor(`one-${i}`);
    const start = performance.now();
    await kube.create(GRANTS, grant, FIELD_MANAGERS.gateway);
    await grants.waitFor(keyOf(grant), isReady, AbortSignal.timeout(30_000));
    issued.push(performance.now() - start);
  }
  await world.stopBackend(); // an issuer would disturb the raw calls
  await using raw = await RawBinds.start(kube);
  const chains: number[] = [];
  for (let i = 0; i < rounds; i++) chains.push((await raw.chain(`raw-${i}`)).grantMs);
  const [ours, theirs] = [median(issued), median(chains)];
  return {
    name: "one Grant, created to Ready",
    measured: latencies(issued),
    comparedTo: `its chain of raw calls ${ms(theirs)}`,
    goal: `p50 ≤ 2.5 ×: ${(ours / theirs).toFixed(2)} ×`,
    met: ours / theirs <= 2.5,
  };
}

/** Measures writes and memory at rest and after a restart. */
async function* atRest(count: number): AsyncGenerator<Figure> {
  await using world = await startIssuerWorld(FAST, ISSUER_ONLY);
  const { kube, grants, plane } = world;
  const wanted = Array.from({ length: count }, (_, i) => grantFor(`steady-${i}`));
  await inTurn(
    count,
    32,
    (i) => kube.create(GRANTS, wanted[i] ?? grantFor(`${i}`), FIELD_MANAGERS.gateway),
  );
  await Promise.all(wanted.map((grant) => grants.waitFor(keyOf(grant), isReady, never)));
  await world.stopBackend();

  await using restarted = await BenchBackend.start(plane, ISSUER_ONLY);
  const asked = await apiRequestsDuring(plane, restarted.user, async () => {
    await eventually("every Grant is reconciled", async () => {
      return await restarted.reconciled() >= count;
    }, { timeoutMs: 120_000, everyMs: 200 });
    await sleep(RESTING_MS);
  });
  const writes = asked.filter(isWrite);
  yield {
    name: `restart with ${count} Grants in place`,
    measured: `${writes.length} mutating requests`,
    comparedTo: `${count} reconciles`,
    goal: "0",
    met: writes.length === 0,
  };
  const resident = await restarted.residentMb();
  yield {
    name: `resident memory with ${count} Grants`,
    measured: `${resident.toFixed(0)} MB`,
    comparedTo: "issuer only",
    goal: "≤ 200 MB",
    met: resident <= 200,
  };
  yield await benchResync(plane, count);
}

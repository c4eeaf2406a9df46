import { eventually } from "../scripts/controlplane/eventually.ts";
import { type Grant, GRANTS, isDeleting } from "../common/api/resources.ts";
import { ISSUED, statusUpdate } from "../server/issuer/grant_status.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import { sleep } from "../common/time/wait.ts";
import { apiRequestsDuring, isWrite } from "./api_requests.ts";
import { BenchBackend } from "./bench_backend.ts";
import type { Figure } from "./figure.ts";
import type { GrowingProvider } from "./growing_provider.ts";
import { grantFor } from "./samples.ts";
import type { Run } from "./scenario.ts";

const INTERVAL_MS = 1_000;
const FLAGS = [
  "--enable-gateway=false",
  "--enable-issuer=false",
  "--enable-reaper",
  "--reaper-revoke",
  "--reaper-delete-boundary",
];
/** Longer than the age of any heartbeat in the run. */
const TTL = "--reaper-ttl=12h";
const SILENT_FOR_MS = 24 * 3_600_000;

/** Measures a sweep over many Grants with nothing to revoke, and the calls of each deletion. */
export async function* benchReaper(run: Run): AsyncGenerator<Figure> {
  const { full, sized, progress } = run;
  const provider = await run.growingProvider();
  const count = sized(1_000, 10_000);
  await provider.growTo({ exports: 1, grants: count }, progress);
  const sweeps = sized(3, 10);
  progress(`${sweeps} sweeps over ${provider.size.grants} Grants`);
  const windowMs = sweeps * INTERVAL_MS;
  const idle = await observe(provider, windowMs, "--reaper-interval=1h");
  const sweeping = await observe(provider, windowMs, `--reaper-interval=${INTERVAL_MS}ms`);
  const cpuSeconds = (sweeping.cpuSeconds - idle.cpuSeconds) / sweeps;
  const requests = sweeping.requests / sweeps;
  yield {
    name: `a sweep over ${provider.size.grants} Grants, nothing to revoke`,
    measured: `${cpuSeconds.toFixed(3)} s of CPU, ${requests.toFixed(1)} API requests`,
    comparedTo: `the same process without sweeps ${idle.cpuSeconds.toFixed(2)} s in ${
      windowMs / 1000
    } s`,
    goal: "≤ 1 s of CPU, ≤ 2 API requests",
    met: cpuSeconds <= 1 && requests <= 2,
  };
  // The reaper watches for two minutes before any revocation.
  if (full) yield await revocations(provider, sized(20, 20), progress);
}

interface Observed {
  readonly cpuSeconds: number;
  readonly requests: number;
}

/** Measures the cost of a backend with these flags at rest. */
async function observe(
  provider: GrowingProvider,
  windowMs: number,
  interval: string,
): Promise<Observed> {
  await using backend = await BenchBackend.start(provider.plane, {
    flags: [...FLAGS, TTL, interval],
  });
  await backend.ready();
  await sleep(2 * INTERVAL_MS); // the first sweep also checks for leftovers of an earlier process
  let cpuSeconds = 0;
  const requests = await apiRequestsDuring(provider.plane, backend.user, async () => {
    const before = await backend.cpuSeconds();
    await sleep(windowMs);
    cpuSeconds = await backend.cpuSeconds() - before;
  });
  return { cpuSeconds, requests: requests.length };
}

async function revocations(
  provider: GrowingProvider,
  count: number,
  progress: (text: string) => void,
): Promise<Figure> {
  progress(`revoking ${count} silent Grants, two minutes after the start`);
  const { kube, plane } = provider;
  const names: string[] = [];
  for (let i = 0; i < count; i++) {
    const grant = await kube.create(GRANTS, grantFor(`silent-${i}`), FIELD_MANAGERS.gateway);
    const since = new Date(Date.now() - SILENT_FOR_MS);
    const status = statusUpdate(grant, ISSUED, since) as Grant;
    await kube.applyStatus(GRANTS, status, FIELD_MANAGERS.issuer);
    names.push(grant.metadata.name);
  }
  await using backend = await BenchBackend.start(plane, {
    // No consumer sends heartbeats during the run, which the hold would take for an outage.
    flags: [...FLAGS, TTL, `--reaper-interval=${INTERVAL_MS}ms`, "--reaper-hold-percent=100"],
  });
  const asked = await apiRequestsDuring(plane, backend.user, async () => {
    await eventually("the silent Grants are being deleted", async () => {
      const live = await Promise.all(names.map((name) => kube.find(GRANTS, { name })));
      return live.every((grant) => !grant || isDeleting(grant));
    }, { timeoutMs: 300_000, everyMs: 1_000 });
  });
  const deletes = asked.filter(({ verb }) => verb === "delete");
  const ofGrants = (verb: string) =>
    asked.filter((event) => event.verb === verb && event.objectRef?.resource === "grants").length;
  return {
    name: `${count} silent Grants revoked among ${provider.size.grants}`,
    measured: `${ofGrants("get")} live reads, ${ofGrants("delete")} deletes of Grants`,
    comparedTo: `${asked.filter(isWrite).length - deletes.length} other writes (Stale, Events)`,
    goal: "one live read per delete",
    met: ofGrants("get") <= ofGrants("delete"),
  };
}

import { eventually } from "../scripts/controlplane/eventually.ts";
import { sleep } from "../common/time/wait.ts";
import { BenchBackend } from "./bench_backend.ts";
import { type Figure, ms, timed } from "./figure.ts";
import type { GrowingProvider } from "./growing_provider.ts";
import type { Run } from "./scenario.ts";
import { VIEWS } from "./view_cost.ts";

/** Enough for two full garbage collections. */
const SETTLING_MS = 10_000;
/** Enough to collect deleted objects during other work. */
const QUIET_MS = 60_000;
const FLAGS = { flags: ["--enable-reaper"] };
const MOST_MB = 450;
const MOST_LEFT = 1.2;

/** Measures the memory of all modules on a large provider, and after everything is deleted. */
export async function* benchMemory(run: Run): AsyncGenerator<Figure> {
  const { full, sized, progress } = run;
  const provider = await run.growingProvider();
  const [grants, objects] = [sized(1_000, 10_000), sized(10_000, 100_000)];
  await provider.growTo({ exports: 1, grants, objects }, progress);
  await provider.keepExports(1); // the goal covers Grants and objects only
  const size = provider.size;

  progress(`starting on ${size.grants} Grants and ${size.objects} objects`);
  await using stack = new AsyncDisposableStack();
  const start = performance.now();
  const backend = stack.use(await BenchBackend.start(provider.plane, FLAGS));
  await backend.ready();
  const readyMs = performance.now() - start;
  const firstLookMs = await settle(backend);
  const resident = await backend.residentMb();
  yield {
    name: `start with ${size.grants} Grants, then the first look at ${size.objects} objects`,
    measured: `caches filled after ${ms(readyMs)}, all views after ${ms(firstLookMs)} more`,
    comparedTo: "",
    goal: "(information)",
  };
  yield {
    name: `resident memory, ${size.grants} Grants with all that is issued, ${size.objects} objects`,
    measured: `${resident.toFixed(0)} MB`,
    comparedTo: "all modules in one process",
    goal: full ? `≤ ${MOST_MB} MB` : "(information)",
    ...(full ? { met: resident <= MOST_MB } : {}),
    points: [{
      plot: "memory",
      line: "with ten objects per Grant, MB",
      size: grants,
      value: resident,
    }],
  };

  if (!full) return; // the rest takes minutes
  progress(`deleting ${size.objects} objects and ${size.grants} Grants`);
  const revokedMs = await deleteAll(provider, backend);
  progress("a minute of rest, beside a process that never had any of it");
  const ofFresh = async () => {
    await using fresh = await BenchBackend.start(provider.plane, FLAGS);
    await settle(fresh);
    return await afterRest(fresh);
  };
  const [left, idle] = await Promise.all([afterRest(backend), ofFresh()]);
  yield {
    name: "resident memory a minute after all of that was deleted",
    measured: `${left.toFixed(0)} MB`,
    comparedTo: `a process that never had it ${idle.toFixed(0)} MB; revoked ${
      (size.grants / revokedMs * 1000).toFixed(1)
    } Grants/s`,
    goal: `within 20 %: ${(100 * left / idle - 100).toFixed(0)} % more`,
    met: left / idle <= MOST_LEFT,
  };
}

/** Waits until all work is done, and returns the time of the first read of all views. */
async function settle(backend: BenchBackend): Promise<number> {
  await backend.settled();
  const firstLookMs = await timed(() => readAllViews(backend));
  await sleep(SETTLING_MS);
  return firstLookMs;
}

/** Deletes all objects and Grants, and returns the time for the Grants. */
async function deleteAll(provider: GrowingProvider, backend: BenchBackend): Promise<number> {
  await provider.deleteObjects();
  return await timed(async () => {
    await provider.deleteGrants();
    await eventually("the Grants are revoked", async () => {
      const states = ["ready", "pending", "deleting"];
      const counts = states.map((state) => backend.metric(`xbind_grants{state="${state}"}`));
      return (await Promise.all(counts)).every((count) => count === 0);
    }, { timeoutMs: 900_000, everyMs: 1_000 });
  });
}

/** Reads all views, and returns the resident memory a minute later. */
async function afterRest(backend: BenchBackend): Promise<number> {
  await readAllViews(backend);
  await sleep(QUIET_MS);
  return await backend.residentMb();
}

/** Reads all views, which opens the watches that are opened on demand. */
async function readAllViews(backend: BenchBackend): Promise<void> {
  const token = await backend.sessions.seal("reader");
  for (const { path } of VIEWS) await backend.read(token, path);
}

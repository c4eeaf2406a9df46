import { CRDS, EXPORTS, GRANTS, LEASES } from "../common/api/resources.ts";
import { isNotFound } from "../common/kube/kube_error.ts";
import { FIELD_MANAGERS, grantName } from "../common/api/names.ts";
import { sleep } from "../common/time/wait.ts";
import { sealedSubject } from "../tests/support/planes/sealed_sessions.ts";
import { type Figure, median, ms, timed } from "./figure.ts";
import { inTurn } from "./in_turn.ts";
import { type IssuerWorld, startIssuerWorld } from "./issuer_world.ts";
import {
  COG_CRD,
  cogFor,
  COGS,
  consumerUid,
  EXPORT,
  exportFor,
  FAST_TOKENS,
  grantFor,
  leaseFor,
} from "./samples.ts";
import type { Run } from "./scenario.ts";
import { isFlat, quarter, type SoakSample } from "./soak_flatness.ts";
import { VIEWS } from "./view_cost.ts";

const EXPORT_COUNT = 200;
const OBJECTS = 2_000;
/** The number of Grants at any time. Twice as many identities take part. */
const GRANT_COUNT = 200;
const BIND_EVERY_MS = 500;
const READERS = 4;
const READ_EVERY_MS = 100;
const BEAT_EVERY_MS = 30_000;
const SAMPLES = 60;
const PATHS = ["/api/me", ...VIEWS.map(({ path }) => path)];

/** Runs a steady load of binds, pickups, revocations, reads and heartbeats. Nothing may grow. */
export async function* benchSoak({ soakMinutes, progress }: Run): AsyncGenerator<Figure> {
  await using world = await startIssuerWorld(
    { controllerManager: FAST_TOKENS, auditLog: false },
    { flags: ["--enable-reaper"] },
  );
  progress(`creating ${EXPORT_COUNT} Exports and ${OBJECTS} objects`);
  await populate(world);
  progress(`${soakMinutes} minutes of load`);
  const load = new SoakLoad(world);
  const durationMs = soakMinutes * 60_000;
  const samples: SoakSample[] = [];
  const stop = AbortSignal.timeout(durationMs);
  const running = load.run(stop);
  while (!stop.aborted) {
    await sleep(durationMs / SAMPLES);
    const sample = await load.sample();
    samples.push(sample);
    progress(
      `${sample.residentMb.toFixed(0)} MB, read ${ms(sample.readMs)}, bind ${ms(sample.bindMs)}`,
    );
  }
  await running;
  yield* figures(samples, load, soakMinutes);
}

function* figures(
  samples: readonly SoakSample[],
  { binds, reads, failures }: SoakLoad,
  minutes: number,
): Generator<Figure> {
  const of: [name: string, key: keyof SoakSample, text: (value: number) => string][] = [
    ["resident memory", "residentMb", (value) => `${value.toFixed(0)} MB`],
    ["reads, p50", "readMs", ms],
    ["binds, p50", "bindMs", ms],
  ];
  for (const [name, key, text] of of) {
    const values = samples.map((sample) => sample[key]);
    yield {
      name: `${minutes} minutes of mixed load: ${name}`,
      measured: `last quarter ${text(median(quarter(values, 4)))}`,
      comparedTo: `second quarter ${text(median(quarter(values, 2)))}`,
      goal: "flat",
      met: isFlat(key, values),
    };
  }
  yield {
    name: `${minutes} minutes of mixed load: failures`,
    measured: `${failures.length}${failures.length > 0 ? `, first: ${failures[0]}` : ""}`,
    comparedTo: `${binds} binds with pickups, ${reads} reads`,
    goal: "0",
    met: failures.length === 0,
  };
}

async function populate({ kube }: IssuerWorld): Promise<void> {
  await kube.apply(CRDS, COG_CRD, FIELD_MANAGERS.installer);
  await inTurn(
    EXPORT_COUNT,
    16,
    (i) => kube.apply(EXPORTS, exportFor(`service-${i}`), FIELD_MANAGERS.cli),
  );
  await inTurn(
    OBJECTS,
    32,
    (i) => kube.create(COGS, cogFor(i, consumerUid(i % GRANT_COUNT)), FIELD_MANAGERS.cli),
  );
}

/** The load of many users and konnectors, and their latencies and failures. */
class SoakLoad {
  readonly #world: IssuerWorld;
  #readTimes: number[] = [];
  #bindTimes: number[] = [];
  /** The numbers of the identities with a Grant. */
  readonly #bound = new Set<number>();
  readonly failures: string[] = [];
  binds = 0;
  reads = 0;

  constructor(world: IssuerWorld) {
    this.#world = world;
  }

  async run(signal: AbortSignal): Promise<void> {
    const repeat = async (everyMs: number, work: (round: number) => Promise<void>) => {
      for (let round = 0; !signal.aborted; round++) {
        const due = performance.now() + everyMs;
        await work(round).catch((error) => this.failures.push(String(error)));
        await sleep(Math.max(0, due - performance.now()), signal).catch(() => {});
      }
    };
    await Promise.all([
      repeat(BIND_EVERY_MS, (round) => this.#bind(round)),
      repeat(BEAT_EVERY_MS, () => this.#beat()),
      ...Array.from(
        { length: READERS },
        (_, i) => repeat(READ_EVERY_MS, (round) => this.#read(i + round)),
      ),
    ]);
  }

  /** Returns the latencies since the last sample. */
  async sample(): Promise<SoakSample> {
    const [readMs, bindMs] = [median(this.#readTimes), median(this.#bindTimes)];
    this.#readTimes = [];
    this.#bindTimes = [];
    return { residentMb: await this.#world.backend.residentMb(), readMs, bindMs };
  }

  async #bind(round: number): Promise<void> {
    const { backend, kube } = this.#world;
    const identity = round % (2 * GRANT_COUNT);
    const token = await backend.sessions.seal(`soak-${identity}`);
    const start = performance.now();
    const bound = await backend.bind(token, EXPORT);
    this.#bindTimes.push(performance.now() - start);
    await backend.pickUp(bound);
    this.#bound.add(identity);
    this.binds++;
    const leaving = (identity + GRANT_COUNT) % (2 * GRANT_COUNT);
    if (!this.#bound.delete(leaving)) return;
    await kube.delete(GRANTS, { name: grantName(EXPORT, subjectOf(leaving)) });
  }

  async #read(round: number): Promise<void> {
    const { backend } = this.#world;
    const token = await backend.sessions.seal("reader");
    const path = PATHS[round % PATHS.length] ?? "";
    this.#readTimes.push(await timed(() => backend.read(token, path)));
    this.reads++;
  }

  async #beat(): Promise<void> {
    const { kube } = this.#world;
    for (const identity of [...this.#bound]) {
      const lease = leaseFor(grantFor(subjectOf(identity)), consumerUid(identity));
      await kube.apply(LEASES, lease, FIELD_MANAGERS.cli).catch((error) => {
        if (!isNotFound(error)) throw error;
      });
    }
  }
}

const subjectOf = (identity: number): string => sealedSubject(`soak-${identity}`);

import { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import { CRDS, EXPORTS, isReady } from "../common/api/resources.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import { connect } from "../tests/support/planes/kube.ts";
import { apiRequestsDuring } from "./api_requests.ts";
import { BenchBackend } from "./bench_backend.ts";
import { type Figure, median, ms } from "./figure.ts";
import { inTurn } from "./in_turn.ts";
import { load, serve } from "./load.ts";
import { COG_CRD, exportFor } from "./samples.ts";
import type { Run } from "./scenario.ts";

const PATH = "/api/catalog";
const EXPORT_COUNT = 1_000;
const TURNS = 3;

/** Measures a catalog of 1,000 Exports under load, beside a bare server. */
export async function* benchCatalog({ full, sized, progress }: Run): AsyncGenerator<Figure> {
  await using plane = await ControlPlane.start({
    name: "bench",
    auditLog: true,
    controllerManager: false,
  });
  await using backend = await BenchBackend.start(plane);
  await backend.ready();
  using admin = await connect(plane, { maxInFlight: 100 });
  await admin.kube.apply(CRDS, COG_CRD, FIELD_MANAGERS.installer);
  const exports = sized(EXPORT_COUNT, EXPORT_COUNT);
  progress(`creating ${exports} Exports`);
  await inTurn(
    exports,
    32,
    (i) => admin.kube.create(EXPORTS, exportFor(`service-${i}`), FIELD_MANAGERS.cli),
  );
  await eventually("all Exports are Ready", async () => {
    return (await admin.kube.list(EXPORTS)).filter(isReady).length === exports;
  }, { timeoutMs: 120_000, everyMs: 500 });
  await backend.settled();

  const token = await backend.sessions.seal("reader");
  const url = backend.url + PATH;
  const seconds = full ? 5 : 1;
  progress("the catalog under load");
  await load(url, { token, inFlight: 4, seconds: 1 });
  const figures: Figure[] = [];
  const asked = await apiRequestsDuring(plane, backend.user, async () => {
    for (const [inFlight, goalMs] of [[32, 50], [200, 250]] as const) {
      const { perSecond, p50, p99, bytes } = await load(url, { token, inFlight, seconds });
      figures.push({
        name: `GET ${PATH}, ${exports} Exports, ${inFlight} in flight`,
        measured: `${perSecond.toFixed(0)}/s, p50 ${ms(p50)}, p99 ${ms(p99)}`,
        comparedTo: `${(bytes / 1000).toFixed(0)} kB each, compressed`,
        goal: `≥ 3,000/s, p99 ≤ ${goalMs} ms`,
        met: perSecond >= 3_000 && p99 <= goalMs,
      });
    }
    figures.push(await besideBareServer(url, token, seconds));
  });
  yield* figures;
  yield {
    name: `API requests by the gateway during all loads of ${PATH}`,
    measured: String(asked.length),
    comparedTo: "the API server's own record",
    goal: "0",
    met: asked.length === 0,
  };
}

/** Compares the gateway with a bare server that sends the same uncompressed bytes. */
async function besideBareServer(url: string, token: string, seconds: number): Promise<Figure> {
  const answer = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
  const size = (await answer.arrayBuffer()).byteLength;
  await using bare = await serve("bare_server.ts", String(size));
  const [rates, bareRates]: [number[], number[]] = [[], []];
  const how = { inFlight: 32, seconds, encoding: "identity" } as const;
  // In turns, so that other load on the machine affects both.
  for (let turn = 0; turn < TURNS; turn++) {
    rates.push((await load(url, { ...how, token })).perSecond);
    bareRates.push((await load(bare.url, how)).perSecond);
  }
  const [rate, bareRate] = [median(rates), median(bareRates)];
  return {
    name: `GET ${PATH}, 32 in flight, uncompressed`,
    measured: `${rate.toFixed(0)}/s of ${(size / 1000).toFixed(0)} kB`,
    comparedTo: `bare node:http with as many bytes ${bareRate.toFixed(0)}/s`,
    goal: `≥ 70 %: ${(100 * rate / bareRate).toFixed(0)} %`,
    met: rate / bareRate >= 0.7,
  };
}

import { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import { CLUSTER_ROLE_BINDINGS, CRDS, EXPORTS, isReady } from "../common/api/resources.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { sleep } from "../common/time/wait.ts";
import { connect } from "../tests/support/planes/kube.ts";
import { sealedSubject } from "../tests/support/planes/sealed_sessions.ts";
import { apiRequestsDuring } from "./api_requests.ts";
import { BenchBackend } from "./bench_backend.ts";
import { type Figure, ms } from "./figure.ts";
import { inTurn } from "./in_turn.ts";
import { type Caller, giveRole, letBind, SIGNED_IN } from "./let_bind.ts";
import { load } from "./load.ts";
import { COG_CRD, exportFor } from "./samples.ts";
import type { Run } from "./scenario.ts";

const PATH = "/api/catalog";
const EXPORT_COUNT = 1_000;
const CALLERS = 100;
/** Answers count for 9 s, so the callers do not ask again within this time. */
const FRESH_SECONDS = 4;
const LONG_SECONDS = 20;

/** Measures the catalog of 1,000 Exports for 100 callers, each with rights to half of it. */
export async function* benchAuthorization({ sized, progress }: Run): AsyncGenerator<Figure> {
  await using plane = await ControlPlane.start({
    name: "bench",
    auditLog: true,
    controllerManager: false,
  });
  await using backend = await BenchBackend.start(plane, { flags: ["--authorization=Kubernetes"] });
  await backend.ready();
  using admin = await connect(plane, { maxInFlight: 100 });
  await admin.kube.apply(CRDS, COG_CRD, FIELD_MANAGERS.installer);
  // As the chart does, so that the backend may ask for all rights of a caller at once.
  await giveRole(admin.kube, "callers", "system:basic-user", SIGNED_IN);
  const exports = sized(EXPORT_COUNT, EXPORT_COUNT);
  progress(`creating ${exports} Exports, and roles for ${CALLERS} callers`);
  await inTurn(
    exports,
    32,
    (i) => admin.kube.create(EXPORTS, exportFor(`service-${i}`), FIELD_MANAGERS.cli),
  );
  const names = Array.from({ length: exports }, (_, i) => `service-${i}`);
  await inTurn(CALLERS, 16, (caller) =>
    letBind(
      admin.kube,
      `caller-${caller}`,
      userOf(`caller-${caller}`),
      names.filter((_, i) => (i * 7 + caller * 13) % CALLERS < CALLERS / 2),
    ));
  await eventually("all Exports are Ready", async () => {
    return (await admin.kube.list(EXPORTS)).filter(isReady).length === exports;
  }, { timeoutMs: 120_000, everyMs: 500 });
  await backend.settled();
  const tokens: string[] = [];
  for (let i = 0; i < CALLERS; i++) tokens.push(await backend.sessions.seal(`caller-${i}`));
  const warm = () => inTurn(CALLERS, 8, (i) => backend.read(tokens[i] ?? "", PATH));

  progress("the catalogs under load");
  await warm();
  await sleep(10_000); // all answers are old now
  const renewed = await apiRequestsDuring(plane, backend.user, warm);
  yield {
    name: `reviews for one catalog of ${exports} Exports by each of ${CALLERS} callers`,
    measured: `${(renewed.length / CALLERS).toFixed(2)} a caller`,
    comparedTo: "the API server's own record",
    goal: "≤ 2",
    met: renewed.length <= 2 * CALLERS,
  };
  const figures: Figure[] = [];
  const fresh = await apiRequestsDuring(plane, backend.user, async () => {
    const { perSecond, p50, p99, bytes } = await load(backend.url + PATH, {
      tokens,
      inFlight: 32,
      seconds: FRESH_SECONDS,
    });
    figures.push({
      name: `GET ${PATH}, ${exports} Exports, ${CALLERS} callers, 32 in flight`,
      measured: `${perSecond.toFixed(0)}/s, p50 ${ms(p50)}, p99 ${ms(p99)}`,
      comparedTo: `${(bytes / 1000).toFixed(0)} kB each, compressed`,
      goal: "≥ 1,000/s",
      met: perSecond >= 1_000,
    });
  });
  yield* figures;
  yield {
    name: "API requests while the answers are fresh",
    measured: String(fresh.length),
    comparedTo: "the API server's own record",
    goal: "0",
    met: fresh.length === 0,
  };
  const long = await apiRequestsDuring(
    plane,
    backend.user,
    () => load(backend.url + PATH, { tokens, inFlight: 32, seconds: LONG_SECONDS }),
  );
  const each = long.length / CALLERS / (LONG_SECONDS / 10);
  yield {
    name: `reviews under steady load of ${LONG_SECONDS} s`,
    measured: `${each.toFixed(2)} a caller in 10 s`,
    comparedTo: "the API server's own record",
    goal: "≤ 2",
    met: each <= 2,
  };
  progress("a change of RBAC");
  yield await changeTakesEffect(backend, admin.kube);
}

/** Measures how long a lost right is still seen. The caller asks all the time. */
async function changeTakesEffect(backend: BenchBackend, kube: KubeClient): Promise<Figure> {
  const times: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const who = `leaver-${turn}`;
    await letBind(kube, who, userOf(who), ["service-0"]);
    const token = await backend.sessions.seal(who);
    const sees = async () => {
      const headers = { Authorization: `Bearer ${token}` };
      const answer = await fetch(backend.url + PATH, { headers });
      return (await answer.text()).includes("service-0");
    };
    await eventually(`${who} sees it`, sees, { everyMs: 50 });
    await kube.delete(CLUSTER_ROLE_BINDINGS, { name: who });
    const start = performance.now();
    await eventually(`${who} sees it no longer`, async () => !await sees(), { everyMs: 20 });
    times.push(performance.now() - start);
  }
  const longest = Math.max(...times);
  return {
    name: "from a lost right to a catalog without the Export",
    measured: ms(longest),
    comparedTo: `${times.length} turns, the longest`,
    goal: "≤ 10 s",
    met: longest <= 10_000,
  };
}

const userOf = (who: string): Caller => ({ kind: "User", name: `xbind:${sealedSubject(who)}` });

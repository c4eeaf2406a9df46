import { auditEvents } from "../scripts/controlplane/audit_events.ts";
import { ControlPlane, type ControlPlaneOptions } from "../scripts/controlplane/control_plane.ts";
import {
  CRDS,
  type CustomResourceDefinition,
  type Grant,
  GRANTS,
  isReady,
  NAMESPACES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../server/api/resources.ts";
import { desiredState } from "../server/issuer/desired.ts";
import { isFilled } from "../server/issuer/issued.ts";
import { ISSUED, statusUpdate } from "../server/issuer/grant_status.ts";
import { Cache } from "../server/kube/cache.ts";
import type { KubeClient } from "../server/kube/client.ts";
import { metadataObjects, wholeObjects } from "../server/kube/follow.ts";
import { keyOf } from "../server/kube/paths.ts";
import {
  ANNOTATIONS,
  CLEANUP_FINALIZER,
  grantName,
  IAM_API_VERSION,
  LABELS,
} from "../server/names.ts";
import { Backend } from "../tests/support/backend.ts";
import { connect } from "../tests/support/kube.ts";
import { benchResync } from "./resync.ts";
import { type Figure, ms, percentile } from "./figure.ts";

const API = "gears.bench.example.org";
const FAST_TOKENS = { kubeApiQps: 500, kubeApiBurst: 1_000, concurrentTokenSyncs: 20 };
const ISSUER_FLAGS = ["--enable-gateway=false"];
const never = new AbortController().signal;

const CRD: CustomResourceDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: API, labels: { [LABELS.exported]: "true" } },
  spec: {
    group: "bench.example.org",
    scope: "Namespaced",
    names: { plural: "gears", singular: "gear", kind: "Gear", listKind: "GearList" },
    versions: [{
      name: "v1",
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    }],
  },
};

const grantFor = (who: string, annotations: Record<string, string> = {}): Grant => ({
  apiVersion: IAM_API_VERSION,
  kind: "Grant",
  metadata: { name: grantName("gears", who), annotations },
  spec: { identity: { subject: who }, exportName: "gears", apis: [{ name: API }] },
});

/** A provider with a running issuer and a watch on its Grants. */
async function startWorld(options: ControlPlaneOptions) {
  const stack = new AsyncDisposableStack();
  const plane = stack.use(await ControlPlane.start({ name: "bench", auditLog: true, ...options }));
  const backend = await Backend.start(plane, { flags: ISSUER_FLAGS });
  await backend.logged("issuing");
  const { kube } = stack.use(await connect(plane, { maxInFlight: 100 }));
  await kube.apply(CRDS, CRD, "xbind-crds");
  const stop = new AbortController();
  const grants = new Cache(wholeObjects(GRANTS));
  const running = grants.run(kube, stop.signal);
  await grants.whenSynced();
  // The API server holds creations back for 2 s after a CRD was installed: not what we measure.
  const warmUp = grantFor("warm-up");
  await kube.create(GRANTS, warmUp, "xbind-gateway");
  await grants.waitFor(keyOf(warmUp), isReady, AbortSignal.timeout(30_000));
  stack.defer(async () => {
    stop.abort();
    await running;
  });
  return { plane, backend, kube, grants, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** From the creation of a Grant to Ready, beside the same dependent calls made by hand. */
async function benchOneGrant(fast: ControlPlaneOptions, rounds: number): Promise<Figure> {
  await using world = await startWorld(fast);
  const { kube, grants, backend } = world;
  const secretCache = new Cache(metadataObjects(SECRETS, { labelSelector: LABELS.grant }, {
    annotations: ["kubernetes.io/service-account.uid"],
  }));
  const stop = new AbortController();
  const running = secretCache.run(kube, stop.signal);
  await secretCache.whenSynced();

  const issued: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const grant = grantFor(`one-${i}`);
    const start = performance.now();
    await kube.create(GRANTS, grant, "xbind-gateway");
    await grants.waitFor(keyOf(grant), isReady, AbortSignal.timeout(30_000));
    issued.push(performance.now() - start);
  }
  await backend[Symbol.asyncDispose](); // by hand only works undisturbed
  const raw: number[] = [];
  for (let i = 0; i < rounds; i++) raw.push(await rawChain(kube, secretCache, `raw-${i}`));
  stop.abort();
  await running;
  const [ours, theirs] = [percentile(issued, 0.5), percentile(raw, 0.5)];
  return {
    name: "one Grant, created to Ready, p50",
    measured: `${ms(ours)} (p99 ${ms(percentile(issued, 0.99))})`,
    comparedTo: `its chain of raw calls ${ms(theirs)}`,
    goal: `≤ 2.5 ×: ${(ours / theirs).toFixed(2)} ×`,
    met: ours / theirs <= 2.5,
  };
}

/** Grant, finalizer, namespace, account, Secret, the token, status: each needs the one before. */
async function rawChain(
  kube: KubeClient,
  secrets: Cache<{ metadata: Grant["metadata"] }>,
  who: string,
): Promise<number> {
  const wanted = grantFor(who);
  const { boundary, account, tokenSecret } = desiredState(wanted, [API], {
    issuerScope: "Cluster",
  });
  const start = performance.now();
  const grant = await kube.create(GRANTS, wanted, "xbind-gateway");
  const { name, resourceVersion = "" } = grant.metadata;
  const patch = { metadata: { resourceVersion, finalizers: [CLEANUP_FINALIZER] } };
  const patched = await kube.mergePatch(GRANTS, { name }, patch, "xbind-issuer");
  await kube.create(NAMESPACES, boundary, "xbind-issuer");
  await kube.create(SERVICE_ACCOUNTS, account, "xbind-issuer");
  await kube.create(SECRETS, tokenSecret, "xbind-issuer");
  await secrets.waitFor(keyOf(tokenSecret), isFilled, AbortSignal.timeout(30_000));
  const status = statusUpdate(patched as Grant, ISSUED, new Date());
  if (status) await kube.applyStatus(GRANTS, status, "xbind-issuer");
  return performance.now() - start;
}

/** Many Grants at once, and one that somebody waits for in the middle of them. */
async function benchBurst(
  label: string,
  options: ControlPlaneOptions,
  count: number,
  goalPerSecond: number | undefined,
): Promise<Figure[]> {
  await using world = await startWorld(options);
  await using _backend = world.backend;
  const { kube, grants, backend } = world;
  const burst = Array.from({ length: count }, (_, i) => grantFor(`burst-${i}`));
  const start = performance.now();
  const allReady = Promise.all(burst.map((grant) => grants.waitFor(keyOf(grant), isReady, never)));
  await Promise.all(burst.map((grant) => kube.create(GRANTS, grant, "xbind-gateway")));
  const wantedUntil = new Date(Date.now() + 30_000).toISOString();
  const urgent = grantFor("somebody-waits", { [ANNOTATIONS.wantedUntil]: wantedUntil });
  // In the middle of it, when tokens are waited for as well.
  await Promise.any(burst.map((grant) => grants.waitFor(keyOf(grant), isReady, never)));
  const readyCount = () => [...grants.values()].filter(isReady).length;
  const readyBefore = readyCount();
  const waitStart = performance.now();
  await kube.create(GRANTS, urgent, "xbind-gateway");
  await grants.waitFor(keyOf(urgent), isReady, AbortSignal.timeout(60_000));
  const waited = performance.now() - waitStart;
  await allReady;
  const backlogDone = performance.now() - waitStart;
  const rate = count / (performance.now() - start) * 1000;
  const errors = backend.log.filter(({ level }) => level === "error").length;
  return [{
    name: `${count} Grants at once, ${label}`,
    measured: `${rate.toFixed(1)}/s, ${errors} error lines`,
    comparedTo: "two cores shared with the control plane",
    goal: goalPerSecond ? `≥ ${goalPerSecond}/s, 0 error lines` : "0 error lines",
    met: errors === 0 && rate >= (goalPerSecond ?? 0),
  }, {
    name: "a Grant that a bind waits for, meanwhile",
    measured: ms(waited),
    comparedTo: `the backlog of ${count - readyBefore}: ${ms(backlogDone)}`,
    goal: `≤ 25 % of that: ${(100 * waited / backlogDone).toFixed(0)} %`,
    met: waited <= backlogDone / 4,
  }];
}

/** Nothing is written at rest nor after a restart, and memory stays small. */
async function benchSteadyState(fast: ControlPlaneOptions, count: number): Promise<Figure[]> {
  await using world = await startWorld(fast);
  const { kube, grants, backend, plane } = world;
  const wanted = Array.from({ length: count }, (_, i) => grantFor(`steady-${i}`));
  let next = 0;
  await Promise.all(Array.from({ length: 32 }, async () => {
    while (next < count) await kube.create(GRANTS, wanted[next++] as Grant, "xbind-gateway");
  }));
  await Promise.all(wanted.map((grant) => grants.waitFor(keyOf(grant), isReady, never)));
  await backend[Symbol.asyncDispose]();

  const user = `restarted-${crypto.randomUUID().slice(0, 8)}`;
  const kubeconfig = await plane.kubeconfigFor(user, ["system:masters"]);
  await using restarted = await Backend.start(plane, { flags: ISSUER_FLAGS, kubeconfig });
  await restarted.logged("issuing");
  const metrics = `${await restarted.addressOf("/metrics")}/metrics`;
  const read = async (name: RegExp) => Number(name.exec(await (await fetch(metrics)).text())?.[1]);
  const reconciled =
    /^controller_runtime_reconcile_total\{controller="grant",result="success"\} (\d+)/m;
  while (await read(reconciled) < count) await new Promise((resolve) => setTimeout(resolve, 200));
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const writes = (await auditEvents(plane)).filter((event) =>
    event.user?.username === user && event.verb !== "get" && event.verb !== "list" &&
    event.verb !== "watch" && event.objectRef?.resource !== "selfsubjectrulesreviews"
  );
  const resident = await read(/^process_resident_memory_bytes (\d+)/m) / 1e6;
  const resync = await benchResync(plane, count);
  return [
    {
      name: `restart with ${count} Grants in place`,
      measured: `${writes.length} mutating requests`,
      comparedTo: `${count} reconciles`,
      goal: "0",
      met: writes.length === 0,
    },
    resync,
    {
      name: `resident memory with ${count} Grants`,
      measured: `${resident.toFixed(0)} MB`,
      comparedTo: "",
      goal: "≤ 200 MB",
      met: resident <= 200,
    },
  ];
}

/** The issuer's figures. */
export async function* benchIssuer(
  full: boolean,
  progress: (text: string) => void,
): AsyncGenerator<Figure> {
  const fast = { controllerManager: FAST_TOKENS };
  progress("one Grant at a time");
  yield await benchOneGrant(fast, full ? 100 : 30);
  const burst = full ? 500 : 150;
  progress(`${burst} Grants at once`);
  yield* await benchBurst("controller manager at 500 requests/s", fast, burst, 25);
  progress(`${burst} Grants at once, controller manager at its defaults`);
  yield* await benchBurst("controller manager at its defaults", {}, burst, undefined);
  const steady = full ? 2_000 : 300;
  progress(`${steady} Grants at rest`);
  yield* await benchSteadyState(fast, steady);
}

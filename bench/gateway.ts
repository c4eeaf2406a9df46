import { auditEvents } from "../scripts/controlplane/audit_events.ts";
import { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import {
  CRDS,
  type CustomResourceDefinition,
  type Export,
  EXPORTS,
  type Grant,
  GRANTS,
  isReady,
  LEASES,
  type ResourceType,
} from "../server/api/resources.ts";
import { createSessionCodec } from "../server/gateway/auth/session.ts";
import type { KubeClient } from "../server/kube/client.ts";
import {
  ANNOTATIONS,
  boundaryName,
  CATALOG_API_VERSION,
  grantName,
  heartbeatLeaseName,
  IAM_API_VERSION,
  LABELS,
} from "../server/names.ts";
import { Backend } from "../tests/support/backend.ts";
import { connect } from "../tests/support/kube.ts";
import { type Figure, ms, percentile } from "./figure.ts";
import type { LoadResult } from "./http_load.ts";

const FAST_TOKENS = { kubeApiQps: 500, kubeApiBurst: 1_000, concurrentTokenSyncs: 20 };
const API = "cogs.bench.example.org";
const COGS: ResourceType = {
  group: "bench.example.org",
  version: "v1",
  plural: "cogs",
  kind: "Cog",
  namespaced: true,
};
const CRD: CustomResourceDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: API, labels: { [LABELS.exported]: "true" } },
  spec: {
    group: COGS.group,
    scope: "Namespaced",
    names: { plural: "cogs", singular: "cog", kind: "Cog", listKind: "CogList" },
    versions: [{
      name: "v1",
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    }],
  },
};

const exportFor = (name: string): Export => ({
  apiVersion: CATALOG_API_VERSION,
  kind: "Export",
  metadata: { name },
  spec: {
    title: `The service ${name}`,
    description: "A service that stands in a catalog of many, described in about as many words " +
      "as people write: what it does, for whom, and what it costs.",
    docs: `https://docs.example.org/${name}`,
    apis: [{ name: API }],
  },
});

/** A gateway whose sessions we can make ourselves, for any number of identities. */
async function startGateway() {
  const stack = new AsyncDisposableStack();
  const plane = stack.use(
    await ControlPlane.start({ name: "bench", auditLog: true, controllerManager: FAST_TOKENS }),
  );
  const keys = { signing: new Uint8Array(64).fill(7), encryption: new Uint8Array(32).fill(9) };
  const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));
  const user = `gateway-${crypto.randomUUID().slice(0, 8)}`;
  const start = () =>
    plane.kubeconfigFor(user, ["system:masters"]).then((kubeconfig) =>
      Backend.start(plane, {
        kubeconfig,
        flags: ["--oidc-mock", "--listen-address=127.0.0.1:0"],
        env: {
          XBIND_COOKIE_SIGNING_KEY: base64(keys.signing),
          XBIND_COOKIE_ENCRYPTION_KEY: base64(keys.encryption),
        },
      })
    );
  const backend = stack.use(await start());
  const { kube } = stack.use(await connect(plane, { maxInFlight: 100 }));
  const codec = await createSessionCodec({
    signingKey: keys.signing,
    encryptionKey: keys.encryption,
    sessionTtlMs: 3_600_000,
    now: () => new Date(),
  });
  const url = await backend.addressOf("/");
  await kube.apply(CRDS, CRD, "xbind-crds");
  return {
    plane,
    backend,
    kube,
    url,
    user,
    start,
    session: (subject: string) => codec.sealSession({ subject }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

type GatewayWorld = Awaited<ReturnType<typeof startGateway>>;

/** Binds of new identities, each with a Grant to provision, beside the raw calls behind them. */
async function benchBind({ kube, url, session }: GatewayWorld, rounds: number): Promise<Figure> {
  await kube.apply(EXPORTS, exportFor("bench"), "xbind-cli");
  await eventually("the Export is Ready", async () => {
    const found = await kube.find(EXPORTS, { name: "bench" });
    return found && isReady(found);
  });
  const bind = async (subject: string) => {
    const start = performance.now();
    const answer = await fetch(`${url}/api/bind`, {
      method: "POST",
      headers: { Authorization: `Bearer ${await session(subject)}` },
      body: JSON.stringify({ export: "bench" }),
    });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`a bind was answered ${answer.status}`);
    return performance.now() - start;
  };
  for (let i = 0; i < 5; i++) await bind(`warm-${i}`);
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) times.push(await bind(`subject-${i}`));
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  return {
    name: "bind of a new identity, idle, p50",
    measured: `${ms(p50)} (p99 ${ms(p99)})`,
    comparedTo: "the chain of raw calls, above",
    goal: "p50 ≤ 60 ms, p99 ≤ 200 ms",
    met: p50 <= 60 && p99 <= 200,
  };
}

async function inTurn(count: number, make: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: 32 }, async () => {
    while (next < count) await make(next++);
  }));
}

/** Exports, Grants with heartbeats and synced objects, written as people and konnectors do. */
async function populate(kube: KubeClient, exports: number, grants: number, objects: number) {
  await inTurn(exports, (i) => kube.create(EXPORTS, exportFor(`service-${i}`), "xbind-cli"));
  const subject = (i: number) => `consumer-${i}`;
  const uid = (i: number) => `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`;
  await inTurn(grants, async (i) => {
    const name = grantName("service-0", subject(i));
    const grant: Grant = {
      apiVersion: IAM_API_VERSION,
      kind: "Grant",
      metadata: { name },
      spec: {
        identity: { subject: subject(i), displayName: `Consumer ${i}` },
        exportName: "service-0",
        apis: [{ name: API }],
      },
    };
    await kube.create(GRANTS, grant, "xbind-gateway");
  });
  await eventually("all Grants are Ready", async () => {
    const all = await kube.list(GRANTS);
    return all.filter(isReady).length >= grants;
  }, { timeoutMs: 300_000, everyMs: 1_000 });
  await inTurn(grants, async (i) => {
    const name = grantName("service-0", subject(i));
    await kube.create(LEASES, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        name: heartbeatLeaseName(name, uid(i)),
        namespace: boundaryName(subject(i)),
        labels: { [LABELS.managed]: "true" },
        annotations: {
          [ANNOTATIONS.connection]: name,
          [ANNOTATIONS.consumerClusterUid]: uid(i),
        },
      },
      spec: {
        holderIdentity: uid(i),
        leaseDurationSeconds: 60,
        renewTime: new Date().toISOString().replace("Z", "000Z"),
      },
    }, "xbind-cli");
  });
  await inTurn(objects, (i) =>
    kube.create(COGS, {
      apiVersion: "bench.example.org/v1",
      kind: "Cog",
      metadata: {
        name: `cog-${i}`,
        namespace: "default",
        labels: { [LABELS.managed]: "true" },
        annotations: { [ANNOTATIONS.consumerClusterUid]: uid(i % grants) },
      },
    }, "xbind-cli"));
}

type Encoding = "gzip" | "identity";

async function load(
  url: string,
  token: string,
  inFlight: number,
  encoding: Encoding = "gzip",
): Promise<LoadResult> {
  const child = new URL("./http_load.ts", import.meta.url).pathname;
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", child, url, token, String(inFlight), "5", encoding],
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the load generator failed");
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** The same bytes, uncompressed and so most of them, from our gateway and from a bare server. */
async function compareWithBareServer(url: string, token: string): Promise<Figure> {
  const answer = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
  const size = (await answer.arrayBuffer()).byteLength;
  const child = new URL("./bare_server.ts", import.meta.url).pathname;
  await using bare = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", child, String(size)],
    stdout: "piped",
  }).spawn();
  const { value } = await bare.stdout.getReader().read();
  const bareUrl = new TextDecoder().decode(value).trim();
  const [ours, theirs]: number[][] = [[], []];
  for (let turn = 0; turn < 3; turn++) {
    ours?.push((await load(url, token, 32, "identity")).perSecond);
    theirs?.push((await load(bareUrl, token, 32, "identity")).perSecond);
  }
  const [rate, bareRate] = [percentile(ours ?? [], 0.5), percentile(theirs ?? [], 0.5)];
  return {
    name: "GET /api/catalog, 32 in flight, uncompressed",
    measured: `${rate.toFixed(0)}/s of ${(size / 1000).toFixed(0)} kB`,
    comparedTo: `bare node:http with as many bytes ${bareRate.toFixed(0)}/s`,
    goal: `≥ 70 %: ${(100 * rate / bareRate).toFixed(0)} %`,
    met: rate / bareRate >= 0.7,
  };
}

/** Views under load, and the API server's own record of who asked it anything meanwhile. */
async function benchViews(world: GatewayWorld, objects: number): Promise<Figure[]> {
  const { url, session, plane, user } = world;
  const token = await session("reader");
  const views = ["/api/catalog", "/api/clusters", "/api/catalog/service-0/instances"];
  for (const path of views) await load(url + path, token, 1); // opens what is opened on demand
  const from = new Date().toISOString();
  const figures: Figure[] = [];
  for (
    const [path, inFlight, goalMs] of [
      [views[0], 32, 50],
      [views[0], 200, 250],
      [views[1], 32, undefined],
      [views[2], 32, undefined],
    ] as const
  ) {
    const { perSecond, p50, p99, bytes } = await load(`${url}${path}`, token, inFlight);
    const isFast = path !== views[0] || perSecond >= 3_000;
    figures.push({
      name: `GET ${path}, ${inFlight} in flight`,
      measured: `${perSecond.toFixed(0)}/s, p50 ${ms(p50)}, p99 ${ms(p99)}`,
      comparedTo: `${(bytes / 1000).toFixed(0)} kB each, compressed`,
      goal: goalMs ? `≥ 3,000/s, p99 ≤ ${goalMs} ms` : "(information)",
      ...(goalMs ? { met: isFast && p99 <= goalMs } : {}),
    });
  }
  figures.push(await compareWithBareServer(`${url}${views[0]}`, token));
  const asked = (await auditEvents(plane)).filter((event) =>
    event.user.username === user && event.requestReceivedTimestamp > from &&
    event.verb !== "watch" && event.objectRef?.resource !== "leases"
  );
  figures.push({
    name: `API requests by the gateway meanwhile, ${objects} objects`,
    measured: String(asked.length),
    comparedTo: "all answers of the four loads",
    goal: "0",
    met: asked.length === 0,
  });
  return figures;
}

/** Start and idle memory of a process with every CRD in place. */
async function benchStart(world: GatewayWorld): Promise<Figure> {
  const start = performance.now();
  await using second = await world.start();
  const url = await second.addressOf("/");
  await (await fetch(`${url}/api/healthz`)).text();
  const readyMs = performance.now() - start;
  const metrics = await (await fetch(`${await second.addressOf("/metrics")}/metrics`)).text();
  const resident = Number(/^process_resident_memory_bytes (\d+)/m.exec(metrics)?.[1]) / 1e6;
  return {
    name: "from start to the first /api/healthz",
    measured: `${readyMs.toFixed(0)} ms, ${resident.toFixed(0)} MB resident`,
    comparedTo: "",
    goal: "≤ 600 ms, ≤ 110 MB",
    met: readyMs <= 600 && resident <= 110,
  };
}

/** The gateway's figures. */
export async function* benchGateway(
  full: boolean,
  progress: (text: string) => void,
): AsyncGenerator<Figure> {
  await using world = await startGateway();
  progress("starting the gateway");
  yield await benchStart(world);
  progress("binds of new identities");
  yield await benchBind(world, full ? 300 : 60);
  const [exports, grants, objects] = full ? [1_000, 1_000, 10_000] : [1_000, 100, 1_000];
  progress(`creating ${exports} Exports, ${grants} Grants, ${objects} objects`);
  await populate(world.kube, exports, grants, objects);
  progress("views under load");
  yield* await benchViews(world, objects);
}

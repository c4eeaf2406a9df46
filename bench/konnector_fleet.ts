import type { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { eventually } from "../scripts/controlplane/eventually.ts";
import { FIELD_MANAGERS, LABELS } from "../common/api/names.ts";
import {
  CONNECTIONS,
  CRDS,
  type Grant,
  GRANTS,
  isReady,
  type Secret,
} from "../common/api/resources.ts";
import { Cache } from "../common/kube/cache.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { wholeObjects } from "../common/kube/follow.ts";
import { parseInlineKubeconfig } from "../common/kube/inline_kubeconfig.ts";
import { createLogger } from "../common/log/log.ts";
import { sleep } from "../common/time/wait.ts";
import { ProviderLink } from "../konnector/connections/provider_link.ts";
import { crdFor, customType, EXPORTED } from "../tests/support/planes/issuer_samples.ts";
import { running } from "../tests/support/planes/kube.ts";
import { type Bound, KonnectorWorld, secretOf } from "../tests/support/worlds/konnector_world.ts";
import { type Figure, latencies, timed } from "./figure.ts";
import { inTurn } from "./in_turn.ts";
import { passed, processMetric, residentMb } from "./konnector_measures.ts";
import type { Run } from "./scenario.ts";

const MANAGER = FIELD_MANAGERS.installer;
const AT_ONCE = 8;
/** Two heartbeats of every link fall into it. */
const MINUTE_MS = 60_000;
const QUIET = createLogger({
  encoder: "json",
  level: "error",
  stacktraceLevel: "panic",
  timeEncoding: "rfc3339",
});

/** Measures one konnector with many Connections, each of them with several APIs. */
export async function* benchKonnectorFleet({ sized, progress }: Run): AsyncGenerator<Figure> {
  const [connections, apis] = [sized(4, 20), sized(5, 10)];
  await using world = await KonnectorWorld.startDirect();
  progress(`offering ${connections} Exports with ${apis} APIs each`);
  const offers: Bound[] = [];
  for (let i = 0; i < connections; i++) offers.push(await offer(world, i, apis));
  const idleMb = await residentMb(world.konnector);
  progress(`binding ${connections} Exports at once`);
  const readyMs = await timed(async () => {
    for (const { bundle } of offers) await world.apply(bundle);
    for (const each of offers) await world.ready(each);
  });
  yield {
    name: `${connections} Connections with ${apis} APIs each, from their bundles to Ready`,
    measured: `${(readyMs / 1_000).toFixed(1)} s`,
    comparedTo: `${connections * apis} CRDs installed on the consumer`,
    goal: "(information)",
  };

  const samples: number[] = [];
  for (const bound of offers) {
    const copies = new Cache(wholeObjects(bound.type));
    await using _ = await running(copies, world.provider.kube);
    for (const name of ["first", "second", "third"]) {
      const key = { namespace: bound.namespace, name };
      const ms = await passed(() => world.create(bound, name), copies, key, () => true);
      if (name !== "first") samples.push(ms); // the first one waits for its namespace
    }
  }
  progress("a minute at rest");
  const before = await processMetric(world.konnector, "process_cpu_seconds_total");
  await sleep(MINUTE_MS);
  const cpu = await processMetric(world.konnector, "process_cpu_seconds_total") - before;
  const restMb = await residentMb(world.konnector);
  yield {
    name: `a new object to its copy, beside ${connections * apis} synced APIs`,
    measured: latencies(samples),
    comparedTo: "",
    goal: "(information)",
  };
  yield {
    name: `one konnector with ${connections * apis} synced APIs at rest`,
    measured: `${restMb.toFixed(0)} MB, ${(cpu / MINUTE_MS * 1e5).toFixed(1)} % of a core`,
    comparedTo: `without a Connection ${idleMb.toFixed(0)} MB`,
    goal: "(information)",
  };
}

/** Offers an Export with several APIs, and gets a Grant for it that is not applied yet. */
async function offer(world: KonnectorWorld, i: number, count: number): Promise<Bound> {
  const { provider } = world;
  const apis = Array.from({ length: count }, (_, j) => `fleet${i}x${j}s.fleet.example.org`);
  await inTurn(count, AT_ONCE, async (j) => {
    await provider.kube.create(CRDS, crdFor(apis[j] as string, EXPORTED), MANAGER);
  });
  const exportName = `fleet-${i}`;
  await provider.offerReady(exportName, apis);
  const grant = await readyGrant(provider.kube, await provider.grant({ exportName, apis }));
  const api = apis[0] as string;
  return {
    api,
    type: customType(api) as Bound["type"],
    name: grant.metadata.name,
    grant,
    namespace: await world.namespace("fleet"),
    bundle: await world.bundleOf(grant),
  };
}

const readyGrant = async (kube: KubeClient, { metadata: { name } }: Grant): Promise<Grant> =>
  await eventually(`the Grant ${name} is Ready`, async () => {
    const found = await kube.get(GRANTS, { name });
    return isReady(found) && found;
  }, { timeoutMs: 120_000 });

/** Measures what the heartbeats and watches of many konnectors cost their provider. */
export async function* benchKonnectorFanout({ sized, progress }: Run): AsyncGenerator<Figure> {
  const [konnectors, apis] = [sized(20, 200), 5];
  await using world = await KonnectorWorld.startDirect();
  await world.kill();
  const { provider: { kube }, providerPlane: plane } = world;
  const names = Array.from({ length: apis }, (_, j) => `fans${j}s.fanout.example.org`);
  for (const api of names) await world.provider.define(api);
  await world.provider.offerReady("fanout", names);
  progress(`granting ${konnectors} identities`);
  const secrets: Secret[] = [];
  await inTurn(konnectors, AT_ONCE, async (i) => {
    const sample = { exportName: "fanout", apis: names, who: `konnector-${i}` };
    const grant = await readyGrant(kube, await world.provider.grant(sample));
    secrets.push(secretOf({ bundle: await world.bundleOf(grant) }));
  });
  const idle = await apiServer(plane);
  progress(`a minute of the API server without konnectors`);
  const alone = await apiServerCpu(plane);

  progress(`${konnectors} konnectors with ${apis} APIs each`);
  await using links = new AsyncDisposableStack();
  let events = 0;
  await inTurn(konnectors, AT_ONCE, async (i) => {
    const link = links.use(await openLink(secrets[i] as Secret, `consumer-${i}`));
    for (const api of names) {
      const labelSelector = `${LABELS.managed}=true,${LABELS.consumerClusterUid}=consumer-${i}`;
      const copies = new Cache(wholeObjects(customType(api), { labelSelector }));
      copies.onChange(() => events++);
      links.use(await running(copies, link.kube));
    }
  });
  const busy = await apiServerCpu(plane);
  const after = await apiServer(plane);
  const watches = konnectors * (apis + 1);
  const cores = (busy - alone) / MINUTE_MS * 1_000;
  yield {
    name: `${konnectors} konnectors with ${apis} APIs each, at rest, on one provider`,
    measured: `${(100 * cores).toFixed(1)} % of a core and ` +
      `${(after.residentMb - idle.residentMb).toFixed(0)} MB of the API server`,
    comparedTo: `${watches} watches, ${(konnectors / 27.5).toFixed(1)} heartbeats a second`,
    goal: "(information)",
  };

  progress("one change of one consumer's object");
  events = 0;
  const type = customType(names[0] as string);
  await kube.create(type, {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: {
      name: "one",
      namespace: "default",
      labels: { [LABELS.managed]: "true", [LABELS.consumerClusterUid]: "consumer-0" },
    },
  }, MANAGER);
  await eventually("the event arrives", () => events > 0);
  await sleep(2_000);
  yield {
    name: `watch events for one object of one of ${konnectors} consumers`,
    measured: `${events}`,
    comparedTo: "",
    goal: "1: own objects only",
    met: events === 1,
  };
}

async function openLink({ stringData }: Secret, clusterUid: string): Promise<ProviderLink> {
  const text = stringData?.["kubeconfig"] ?? "";
  const link = await ProviderLink.open({
    name: clusterUid,
    target: parseInlineKubeconfig(text, { origin: CONNECTIONS.kind }),
    fingerprint: clusterUid,
    source: "CRD",
    clusterUid,
    beforeWrite: () => {},
    onAnswer: () => {},
    log: QUIET,
    onChange: () => {},
    describe: () => ({}),
    onFailure: () => {},
    onClock: () => {},
  }, AbortSignal.timeout(30_000));
  link.start(QUIET);
  return link;
}

/** Reads the memory and the CPU time of the API server from its own metrics. */
async function apiServer(plane: ControlPlane): Promise<{ cpuSeconds: number; residentMb: number }> {
  const { stdout } = await plane.kubectl(["get", "--raw", "/metrics"]);
  const value = (name: string) =>
    Number(stdout.split("\n").find((line) => line.startsWith(`${name} `))?.slice(name.length + 1));
  return {
    cpuSeconds: value("process_cpu_seconds_total"),
    residentMb: value("process_resident_memory_bytes") / 1e6,
  };
}

/** Measures the CPU seconds of the API server in a minute. */
async function apiServerCpu(plane: ControlPlane): Promise<number> {
  const before = await apiServer(plane);
  await sleep(MINUTE_MS);
  return (await apiServer(plane)).cpuSeconds - before.cpuSeconds;
}

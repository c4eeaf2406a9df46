import type { ServerKey } from "../scripts/controlplane/certificates.ts";
import { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { CONFIG_MAPS } from "../common/api/resources.ts";
import { Cache } from "../common/kube/cache.ts";
import type { KubeClient } from "../common/kube/client.ts";
import { wholeObjects } from "../common/kube/follow.ts";
import { FIELD_MANAGERS } from "../common/api/names.ts";
import { connect } from "../tests/support/planes/kube.ts";
import { type Figure, median, ms } from "./figure.ts";
import type { Run } from "./scenario.ts";

const KEY = { namespace: "default", name: "bench-call" };

const configMap = (value: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap" as const,
  metadata: KEY,
  data: { value },
});

/** The turns, warm-up and duration of a measurement. */
interface Pace {
  readonly turns: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

async function callsPerSecond(
  client: "ours" | "stock" | "bare",
  kubeconfig: string,
  inFlight: number,
  { warmUpSeconds, seconds }: Pace,
): Promise<number> {
  const program = new URL("call_rate.ts", import.meta.url).pathname;
  const numbers = [inFlight, warmUpSeconds, seconds].map(String);
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", program, client, kubeconfig, KEY.name, ...numbers],
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`Cannot measure the ${client} client: it failed`);
  return Number(new TextDecoder().decode(stdout));
}

/** Creates a kubeconfig with a token, as in a cluster: the API server caches token checks. */
async function accountKubeconfig(plane: ControlPlane): Promise<string> {
  for (
    const command of [
      "create serviceaccount bench",
      "create clusterrolebinding bench --clusterrole=cluster-admin --serviceaccount=default:bench",
    ]
  ) await plane.kubectl(command.split(" "));
  return await plane.kubeconfigForServiceAccount("default", "bench");
}

/** Measures calls per second of our and the stock client, and how fast a write is cached. */
export async function* benchKubeCalls({ full, progress }: Run): AsyncGenerator<Figure> {
  const pace = full
    ? { turns: 5, warmUpSeconds: 2, seconds: 1 }
    : { turns: 2, warmUpSeconds: 1, seconds: 0.4 };
  await using stack = new AsyncDisposableStack();
  // The key type of kubeadm. A P-256 key makes new connections cheaper, and the stock client opens
  // one for every call, so that is measured, too.
  const { kube, account } = await startPlane(stack, "RSA-2048");
  for (const inFlight of [1, 16]) {
    progress(`gets of one object, ${inFlight} in flight`);
    const name = `get of one object, ${inFlight} in flight`;
    yield { name, ...await compareGets(account, inFlight, pace) };
  }
  progress("from a write to the cache");
  yield await benchEventLatency(kube);
  if (!full) return;
  progress("gets of one object from an API server with a P-256 key");
  const other = await startPlane(stack, "P-256");
  const name = "get of one object, 1 in flight, P-256 key";
  yield { name, ...await compareGets(other.account, 1, pace) };
}

async function startPlane(
  stack: AsyncDisposableStack,
  serverKey: ServerKey,
): Promise<{ kube: KubeClient; account: string }> {
  const options = { name: "bench", controllerManager: false, serverKey };
  const plane = stack.use(await ControlPlane.start(options));
  const { kube } = stack.use(await connect(plane));
  await kube.apply(CONFIG_MAPS, configMap("0"), FIELD_MANAGERS.cli);
  return { kube, account: await accountKubeconfig(plane) };
}

async function compareGets(
  kubeconfig: string,
  inFlight: number,
  pace: Pace,
): Promise<Omit<Figure, "name">> {
  const rates = { ours: [] as number[], stock: [] as number[], bare: [] as number[] };
  // In turns, so that other load on the machine affects all.
  for (let turn = 0; turn < pace.turns; turn++) {
    for (const client of ["ours", "stock", "bare"] as const) {
      if (client === "bare" && inFlight > 1) continue;
      rates[client].push(await callsPerSecond(client, kubeconfig, inFlight, pace));
    }
  }
  const [ours, stock, bare] = [median(rates.ours), median(rates.stock), median(rates.bare)];
  return {
    measured: `${ours.toFixed(0)}/s`,
    comparedTo: `client-node ${stock.toFixed(0)}/s` +
      (bare > 0 ? `, a bare TLS connection ${bare.toFixed(0)}/s` : ""),
    goal: `≥ 4 ×: ${(ours / stock).toFixed(1)} ×`,
    met: ours / stock >= 4,
  };
}

async function benchEventLatency(kube: KubeClient): Promise<Figure> {
  const stop = new AbortController();
  const cache = new Cache(wholeObjects(CONFIG_MAPS, { namespace: KEY.namespace }));
  const running = cache.run(kube, stop.signal);
  await cache.whenSynced();
  const writes: number[] = [];
  const arrivals: number[] = [];
  for (let i = 1; i <= 300; i++) {
    const start = performance.now();
    const arrived = cache
      .waitFor(KEY, (seen) => seen.data?.["value"] === String(i), AbortSignal.timeout(10_000))
      .then(() => performance.now() - start);
    await kube.apply(CONFIG_MAPS, configMap(String(i)), FIELD_MANAGERS.cli);
    writes.push(performance.now() - start);
    arrivals.push(await arrived);
  }
  stop.abort();
  await running;
  const write = median(writes);
  const arrival = median(arrivals);
  return {
    name: "write to cache callback, p50",
    measured: ms(arrival),
    comparedTo: `the write itself ${ms(write)}`,
    goal: `≤ 10 ms more: ${ms(arrival - write)}`,
    met: arrival - write <= 10,
  };
}

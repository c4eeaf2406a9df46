import { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { CONFIG_MAPS } from "../server/api/resources.ts";
import { Cache } from "../server/kube/cache.ts";
import { KubeClient } from "../server/kube/client.ts";
import { wholeObjects } from "../server/kube/follow.ts";
import { loadTarget } from "../server/kube/load_target.ts";
import { Transport } from "../server/kube/transport.ts";
import { type Figure, median, ms } from "./figure.ts";
import type { Run } from "./scenario.ts";

const KEY = { namespace: "default", name: "bench-call" };

async function callsPerSecond(
  client: "ours" | "stock" | "bare",
  kubeconfig: string,
  inFlight: number,
  seconds: number,
): Promise<number> {
  const program = new URL("call_rate.ts", import.meta.url).pathname;
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", program, client, kubeconfig, KEY.name, `${inFlight}`, `${seconds}`],
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`Cannot measure the ${client} client: it failed`);
  return Number(new TextDecoder().decode(stdout));
}

/** As in a cluster: with a token, which the API server remembers, unlike a client certificate. */
async function accountKubeconfig(plane: ControlPlane): Promise<string> {
  for (
    const command of [
      "create serviceaccount bench",
      "create clusterrolebinding bench --clusterrole=cluster-admin --serviceaccount=default:bench",
    ]
  ) await plane.kubectl(command.split(" "));
  return await plane.kubeconfigForServiceAccount("default", "bench");
}

/** Calls per second of our client and of the stock one, and how fast a write reaches the cache. */
export async function* benchKubeCalls({ full, progress }: Run): AsyncGenerator<Figure> {
  await using plane = await ControlPlane.start({ name: "bench", controllerManager: false });
  const kubeconfig = plane.adminKubeconfig;
  const turns = full ? 9 : 3;
  const seconds = full ? 1 : 0.4;
  const target = await loadTarget({ kubeconfig, env: {}, order: "file-first" });
  using transport = new Transport(target, { userAgent: "xbind-bench" });
  const kube = new KubeClient(transport);
  const object = (value: string) => ({
    apiVersion: "v1",
    kind: "ConfigMap" as const,
    metadata: KEY,
    data: { value },
  });
  await kube.apply(CONFIG_MAPS, object("0"), "xbind-cli");

  const account = await accountKubeconfig(plane);
  for (const inFlight of [1, 16]) {
    progress(`gets of one object, ${inFlight} in flight`);
    const rates = { ours: [] as number[], stock: [] as number[], bare: [] as number[] };
    // In turns, so that whatever else the machine does hits all alike.
    for (let turn = 0; turn < turns; turn++) {
      for (const client of ["ours", "stock", "bare"] as const) {
        if (client === "bare" && inFlight > 1) continue;
        rates[client].push(await callsPerSecond(client, account, inFlight, seconds));
      }
    }
    const [ours, stock, bare] = [median(rates.ours), median(rates.stock), median(rates.bare)];
    yield {
      name: `get of one object, ${inFlight} in flight`,
      measured: `${ours.toFixed(0)}/s`,
      comparedTo: `client-node ${stock.toFixed(0)}/s` +
        (bare > 0 ? `, a bare TLS connection ${bare.toFixed(0)}/s` : ""),
      goal: `≥ 4 ×: ${(ours / stock).toFixed(1)} ×`,
      met: ours / stock >= 4,
    };
  }
  progress("from a write to the cache");
  yield await benchEventLatency(kube, object);
}

async function benchEventLatency(
  kube: KubeClient,
  object: (value: string) => Parameters<KubeClient["apply"]>[1],
): Promise<Figure> {
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
    await kube.apply(CONFIG_MAPS, object(String(i)), "xbind-cli");
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

/**
 * Prints the gets per second of one client, ours or the stock one, each in a process of its own:
 * what one leaves behind (open connections, timers, garbage) would slow the other.
 */
import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { CONFIG_MAPS } from "../server/api/resources.ts";
import { KubeClient } from "../server/kube/client.ts";
import { loadTarget } from "../server/kube/load_target.ts";
import { Transport } from "../server/kube/transport.ts";

const [client = "", kubeconfig = "", name = "", inFlight = "1", seconds = "1"] = Deno.args;
const key = { namespace: "default", name };
const WARM_UP_SECONDS = 0.5;

async function ours(): Promise<() => Promise<unknown>> {
  const target = await loadTarget({ kubeconfig, env: {}, order: "file-first" });
  const kube = new KubeClient(new Transport(target, { userAgent: "xbind-bench" }));
  return () => kube.get(CONFIG_MAPS, key);
}

function stock(): () => Promise<unknown> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const api = config.makeApiClient(CoreV1Api);
  return () => api.readNamespacedConfigMap(key);
}

async function callsPerSecond(call: () => Promise<unknown>, seconds: number): Promise<number> {
  const start = performance.now();
  const end = start + seconds * 1000;
  let calls = 0;
  await Promise.all(Array.from({ length: Number(inFlight) }, async () => {
    while (performance.now() < end) {
      await call();
      calls++;
    }
  }));
  return calls / (performance.now() - start) * 1000;
}

const call = client === "ours" ? await ours() : stock();
await callsPerSecond(call, WARM_UP_SECONDS);
await Deno.stdout.write(
  new TextEncoder().encode(`${await callsPerSecond(call, Number(seconds))}\n`),
);
Deno.exit(0);

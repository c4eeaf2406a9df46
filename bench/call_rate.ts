/**
 * Prints the gets per second of one client: ours, the stock one, or a bare TLS connection that only
 * sends this request, which no client over the same TLS can beat. Each client has its own process,
 * because the connections, timers and garbage of one would slow the next.
 */
import { once } from "node:events";
import { connect } from "node:tls";
import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { CONFIG_MAPS } from "../common/api/resources.ts";
import { KubeClient } from "../common/kube/client.ts";
import { CredentialSource } from "../common/kube/credentials.ts";
import { loadTarget } from "../common/kube/load_target.ts";
import { objectPath } from "../common/kube/paths.ts";
import { Transport } from "../common/kube/transport.ts";

const [client = "", kubeconfig = "", name = "", inFlight = "", warmUp = "", seconds = ""] =
  Deno.args;
const key = { namespace: "default", name };

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

async function bare(): Promise<() => Promise<unknown>> {
  const target = await loadTarget({ kubeconfig, env: {}, order: "file-first" });
  const { tls, headers } = await new CredentialSource(target).current();
  const { hostname, host, port } = new URL(target.server);
  const socket = connect({ host: hostname, port: Number(port), ...tls });
  await once(socket, "secureConnect");
  const request = `GET ${objectPath(CONFIG_MAPS, key)} HTTP/1.1\r\nHost: ${host}\r\n` +
    `Accept: application/json\r\nAuthorization: ${headers["Authorization"]}\r\n\r\n`;
  let text = "";
  let answered = (_: unknown) => {};
  socket.setEncoding("utf8").on("data", (part) => {
    text += part;
    const body = text.indexOf("\r\n\r\n") + 4;
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
    if (body < 4 || text.length < body + length) return;
    answered(JSON.parse(text.slice(body)));
    text = "";
  });
  return () =>
    new Promise((resolve) => {
      answered = resolve;
      socket.write(request);
    });
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

const clients = { ours, stock, bare };
const call = await clients[client as keyof typeof clients]();
await callsPerSecond(call, Number(warmUp));
await Deno.stdout.write(
  new TextEncoder().encode(`${await callsPerSecond(call, Number(seconds))}\n`),
);
Deno.exit(0);

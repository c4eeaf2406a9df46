import http from "node:http";
import https from "node:https";
import net from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { hostAndPort } from "../runtime/http_exchange.ts";
import type { TlsMaterial } from "./credentials.ts";
import type { KubeTarget } from "./kube_target.ts";

/** Opens the way through a proxy; only the command-line client has one. */
export type ConnectThroughProxy = (proxyUrl: URL, host: string, port: number) => Promise<Duplex>;

/** Idle connections close well before the API server's own 90 s, so that none is lost in a race. */
const IDLE_CONNECTION_MS = 30_000;

/** A pool of connections to the target's server; `ca` replaces the system's roots. */
export function createAgent(
  target: KubeTarget,
  tls: TlsMaterial,
  options: http.AgentOptions,
  connectThroughProxy?: ConnectThroughProxy,
): http.Agent {
  const base = new URL(target.server);
  const shared = { ...options, timeout: IDLE_CONNECTION_MS, scheduling: "lifo" } as const;
  const secure = {
    ...tls,
    rejectUnauthorized: !target.insecureSkipTlsVerify,
    ...(target.tlsServerName ? { servername: target.tlsServerName } : {}),
  };
  const isPlain = base.protocol === "http:";
  const agent = isPlain ? new http.Agent(shared) : new https.Agent({ ...shared, ...secure });
  // The stock name spells out every certificate, for every request; this agent has one server.
  agent.getName = () => base.host;
  if (!target.proxyUrl || !connectThroughProxy) return agent;

  const proxyUrl = new URL(target.proxyUrl);
  const { host, port } = hostAndPort(base);
  const nameForTls = net.isIP(host) ? {} : { servername: host };
  const dial = async (): Promise<Duplex> => {
    const socket = await connectThroughProxy(proxyUrl, host, port);
    return isPlain ? socket : connectTls({ host, ...nameForTls, ...secure, socket });
  };
  return Object.assign(agent, {
    createConnection(_: unknown, done: (error: Error | null, socket?: Duplex) => void) {
      dial().then((socket) => done(null, socket), done);
    },
  });
}

/** Lets exchanges in flight finish on the old connections, and keeps none of them. */
export function retireAgent(agent: http.Agent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}

import http from "node:http";
import https from "node:https";
import type { LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import { hostAndPort } from "../runtime/http_exchange.ts";
import { dialingBy, dialingFirst } from "../runtime/tls_dialing.ts";
import type { TlsMaterial } from "./credentials.ts";
import type { KubeTarget } from "./kube_target.ts";

/** Opens the way through a proxy; only the command-line client has one. */
export type ConnectThroughProxy = (proxyUrl: URL, host: string, port: number) => Promise<Duplex>;

/** Idle connections close well before the API server's own 90 s, so that none is lost in a race. */
const IDLE_CONNECTION_MS = 30_000;

/** How a pool opens its connections. */
export interface AgentOptions {
  readonly keepAlive: boolean;
  readonly lookup?: LookupFunction | undefined;
  readonly connectThroughProxy?: ConnectThroughProxy | undefined;
}

/** A pool of connections to the target's server; `ca` replaces the system's roots. */
export function createAgent(
  target: KubeTarget,
  tls: TlsMaterial,
  { keepAlive, lookup, connectThroughProxy }: AgentOptions,
): http.Agent {
  const base = new URL(target.server);
  const shared = { keepAlive, timeout: IDLE_CONNECTION_MS, scheduling: "lifo" } as const;
  const { host, port } = hostAndPort(base);
  const { proxyUrl } = target;
  const open = proxyUrl && connectThroughProxy
    ? () => connectThroughProxy(new URL(proxyUrl), host, port)
    : undefined;
  if (base.protocol === "http:") {
    const agent = new http.Agent({ ...shared, ...(lookup ? { lookup } : {}) });
    return open ? dialingBy(agent, open) : agent;
  }
  const secure = {
    ...tls,
    rejectUnauthorized: !target.insecureSkipTlsVerify,
    ...(target.tlsServerName ? { servername: target.tlsServerName } : {}),
  };
  const agent = dialingFirst(new https.Agent(shared), { host, port, secure, open, lookup });
  // The stock name spells out every certificate, for every request; this agent has one server.
  agent.getName = () => base.host;
  return agent;
}

/** Lets exchanges in flight finish on the old connections, and keeps none of them. */
export function retireAgent(agent: http.Agent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}

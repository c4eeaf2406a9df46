import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { hostAndPort } from "./http_exchange.ts";
import { type Environment, proxyFor } from "./proxy_for.ts";

/** How a web server outside of Kubernetes is reached. */
export interface WebAgentOptions {
  /** PEM certificates that replace the system's roots. */
  readonly caPem?: string | undefined;
  /** Opens tunnels, and names the proxies; without it every connection is direct. */
  readonly proxy?: {
    readonly env: Environment;
    readonly connect: (proxyUrl: URL, host: string, port: number) => Promise<Duplex>;
  } | undefined;
}

/** A connection of its own for each call: they are rare, and a kept one may be dead by the next. */
export const webAgent = (url: URL, { caPem, proxy }: WebAgentOptions): http.Agent => {
  if (url.protocol === "http:") return new http.Agent({ keepAlive: false });
  const trust = caPem === undefined ? {} : { ca: caPem };
  const agent = new https.Agent({ keepAlive: false, ...trust });
  const proxyUrl = proxy && proxyFor(url, proxy.env);
  if (!proxy || !proxyUrl) return agent;
  const { host, port } = hostAndPort(url);
  const nameForTls = isIP(host) ? {} : { servername: host };
  return Object.assign(agent, {
    createConnection(_: unknown, done: (error: Error | null, socket?: Duplex) => void) {
      proxy.connect(proxyUrl, host, port)
        .then((socket) => connectTls({ host, ...nameForTls, ...trust, socket }))
        .then((socket) => done(null, socket), done);
    },
  });
};

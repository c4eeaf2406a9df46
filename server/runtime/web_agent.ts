import http from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";
import { hostAndPort } from "./http_exchange.ts";
import { type Environment, proxyFor } from "./proxy_for.ts";
import { dialingFirst } from "./tls_dialing.ts";

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
  const { host, port } = hostAndPort(url);
  const proxyUrl = proxy && proxyFor(url, proxy.env);
  const open = proxyUrl ? () => proxy.connect(proxyUrl, host, port) : undefined;
  const secure = caPem === undefined ? {} : { ca: caPem };
  return dialingFirst(new https.Agent({ keepAlive: false }), { host, port, secure, open });
};

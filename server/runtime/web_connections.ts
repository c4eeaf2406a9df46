import type { Duplex } from "node:stream";
import { Connections } from "./connections.ts";
import { abandonable, dialTo } from "./dial.ts";
import { hostAndPort } from "./http_exchange.ts";
import { type Environment, proxyFor } from "./proxy_for.ts";

/** How a web server outside of Kubernetes is reached. */
export interface WebConnectionsOptions {
  /** PEM certificates that replace the system's roots. */
  readonly caPem?: string | undefined;
  /** Opens tunnels, and names the proxies; without it every connection is direct. */
  readonly proxy?: {
    readonly env: Environment;
    readonly connect: (proxyUrl: URL, host: string, port: number) => Promise<Duplex>;
  } | undefined;
}

/** A connection of its own for each call: they are rare, and a kept one may be dead by the next. */
export function webConnections(url: URL, { caPem, proxy }: WebConnectionsOptions): Connections {
  const { host, port } = hostAndPort(url);
  const proxyUrl = proxy && proxyFor(url, proxy.env);
  const open = proxyUrl ? abandonable(() => proxy.connect(proxyUrl, host, port)) : undefined;
  const secure = caPem === undefined ? {} : { ca: caPem };
  return new Connections(dialTo({ base: url, secure, open }), { keep: false });
}

import { Connections } from "./connections.ts";
import { type ConnectThroughProxy, dialTo } from "./dial.ts";
import { type Environment, proxyFor } from "./proxy_for.ts";

/** How a web server outside of Kubernetes is reached. */
export interface WebConnectionsOptions {
  /** PEM certificates that replace the system's roots. */
  readonly caPem?: string | undefined;
  /** Opens tunnels, and names the proxies; without it every connection is direct. */
  readonly proxy?: {
    readonly env: Environment;
    readonly connect: ConnectThroughProxy;
  } | undefined;
}

/** A connection of its own for each call: they are rare, and a kept one may be dead by the next. */
export function webConnections(url: URL, { caPem, proxy }: WebConnectionsOptions): Connections {
  const proxyUrl = proxy && proxyFor(url, proxy.env);
  const through = proxyUrl && { url: proxyUrl, connect: proxy.connect };
  const secure = caPem === undefined ? {} : { ca: caPem };
  return new Connections(dialTo({ base: url, secure, proxy: through }), { keep: false });
}

import { Connections } from "./connections.ts";
import { type ConnectThroughProxy, dialTo } from "./dial.ts";
import { type Environment, proxyFor } from "./proxy_for.ts";

/** How to reach a web server outside Kubernetes. */
export interface WebConnectionsOptions {
  /** PEM certificates that replace the system's roots. */
  readonly caPem?: string | undefined;
  /** Picks proxies and opens tunnels. Without it, every connection is direct. */
  readonly proxy?: {
    readonly env: Environment;
    readonly connect: ConnectThroughProxy;
  } | undefined;
}

/** Opens a connection per call. Calls are rare, and an idle connection may be dead by the next. */
export function webConnections(url: URL, { caPem, proxy }: WebConnectionsOptions): Connections {
  const proxyUrl = proxy && proxyFor(url, proxy.env);
  const through = proxyUrl && { url: proxyUrl, connect: proxy.connect };
  const secure = caPem === undefined ? {} : { ca: caPem };
  return new Connections(dialTo({ base: url, secure, proxy: through }), { keep: false });
}

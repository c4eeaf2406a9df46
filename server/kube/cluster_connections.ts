import type { LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import { Connections } from "../runtime/connections.ts";
import { abandonable, dialTo } from "../runtime/dial.ts";
import { hostAndPort } from "../runtime/http_exchange.ts";
import type { TlsMaterial } from "./credentials.ts";
import type { KubeTarget } from "./kube_target.ts";

/** Opens the way through a proxy; only the command-line client has one. */
export type ConnectThroughProxy = (proxyUrl: URL, host: string, port: number) => Promise<Duplex>;

/** How connections to a cluster are opened. */
export interface ClusterConnectionsOptions {
  readonly keep: boolean;
  readonly lookup?: LookupFunction | undefined;
  readonly connectThroughProxy?: ConnectThroughProxy | undefined;
}

/** Connections to the target's server; `ca` replaces the system's roots. */
export function clusterConnections(
  target: KubeTarget,
  tls: TlsMaterial,
  { keep, lookup, connectThroughProxy }: ClusterConnectionsOptions,
): Connections {
  const base = new URL(target.server);
  const { host, port } = hostAndPort(base);
  const { proxyUrl } = target;
  const open = proxyUrl && connectThroughProxy
    ? abandonable(() => connectThroughProxy(new URL(proxyUrl), host, port))
    : undefined;
  const secure = {
    ...tls,
    rejectUnauthorized: !target.insecureSkipTlsVerify,
    ...(target.tlsServerName ? { servername: target.tlsServerName } : {}),
  };
  return new Connections(dialTo({ base, secure, open, lookup }), { keep });
}

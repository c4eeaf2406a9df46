import type { LookupFunction } from "node:net";
import { Connections, type Pace } from "../http/connections.ts";
import { type ConnectThroughProxy, dialTo } from "../http/dial.ts";
import type { TlsMaterial } from "./credentials.ts";
import type { KubeTarget } from "./kube_target.ts";

/** How connections to a cluster are opened. */
export interface ClusterConnectionsOptions {
  readonly keep: boolean;
  readonly lookup?: LookupFunction | undefined;
  /** Set only by the command-line client. */
  readonly connectThroughProxy?: ConnectThroughProxy | undefined;
  readonly pace?: Pace | undefined;
}

/** Opens connections to the target's server. `ca` replaces the system's roots. */
export function clusterConnections(
  target: KubeTarget,
  tls: TlsMaterial,
  { keep, lookup, connectThroughProxy, pace }: ClusterConnectionsOptions,
): Connections {
  const base = new URL(target.server);
  const { proxyUrl } = target;
  const proxy = proxyUrl && connectThroughProxy
    ? { url: new URL(proxyUrl), connect: connectThroughProxy }
    : undefined;
  const secure = {
    ...tls,
    rejectUnauthorized: !target.insecureSkipTlsVerify,
    ...(target.tlsServerName ? { serverName: target.tlsServerName } : {}),
  };
  return new Connections(dialTo({ base, secure, proxy, lookup }), { keep, pace });
}

import { lookup as resolve } from "node:dns/promises";
import { BlockList, isIP, isIPv4, type LookupFunction } from "node:net";
import { applyFailed, kubeconfigRejected } from "../errors.ts";
import { untilAborted } from "../../common/time/wait.ts";
import { hostAndPort } from "../../common/http/exchange.ts";

/** Holds one address of a host, as DNS returns it. */
export interface HostAddress {
  readonly address: string;
  readonly family: number;
}

/** Returns all addresses of a host name. */
export type ResolveHost = (host: string) => Promise<readonly HostAddress[]>;

const resolveAll: ResolveHost = (host) => resolve(host, { all: true });

/**
 * Looks up a consumer's host once and refuses it if any address is denied. Returns a lookup that
 * always answers with these addresses, so that a later DNS change cannot redirect connections.
 */
export async function pinnedLookup(
  server: string,
  denyCidrs: readonly string[],
  signal: AbortSignal,
  resolveHost: ResolveHost = resolveAll,
): Promise<LookupFunction> {
  const { host } = hostAndPort(new URL(server));
  const addresses = isIP(host)
    ? [{ address: host, family: isIP(host) }]
    : await untilAborted(resolved(host, resolveHost), signal);
  const denied = denyList(denyCidrs);
  if (addresses.some(({ address }) => isDenied(denied, address))) {
    throw kubeconfigRejected("server leads to an address that this gateway refuses");
  }
  return (_host, options, done) => {
    const [first] = addresses;
    if (!first) return done(new Error("the host has no address"), "", 0);
    if (options.all) return done(null, addresses.map((each) => ({ ...each })));
    done(null, first.address, first.family);
  };
}

async function resolved(host: string, resolveHost: ResolveHost): Promise<readonly HostAddress[]> {
  const unknown = (cause?: unknown) =>
    applyFailed("reach the consumer cluster", "its host name cannot be looked up", cause);
  const addresses = await resolveHost(host).catch((cause) => Promise.reject(unknown(cause)));
  if (addresses.length === 0) throw unknown();
  return addresses;
}

function denyList(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = "", prefix = ""] = cidr.split("/");
    list.addSubnet(address, Number(prefix), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return list;
}

const isDenied = (denied: BlockList, address: string): boolean =>
  reachableFrom(address).some((each) => denied.check(each, isIPv4(each) ? "ipv4" : "ipv6"));

/** Returns all addresses that a connection to this address may reach. */
function reachableFrom(address: string): string[] {
  if (isIPv4(address)) return address === "0.0.0.0" ? [address, "127.0.0.1"] : [address];
  // The URL parser normalizes IPv6. The last two groups may contain an IPv4 address.
  const compact = new URL(`http://[${address.replace(/%.*$/, "")}]`).hostname.slice(1, -1);
  if (compact === "::") return [compact, "::1", "127.0.0.1"];
  const [, high = "", low = ""] =
    /^(?:::ffff:|::|64:ff9b::|64:ff9b:1::)(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4})$/.exec(compact) ??
      [];
  if (low === "") return [compact];
  const [a, b] = [parseInt(high || "0", 16), parseInt(low, 16)];
  return [compact, [a >> 8, a & 255, b >> 8, b & 255].join(".")];
}

import { isIP } from "node:net";

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the proxy of `HTTPS_PROXY` for an https URL. Honours `NO_PROXY`, and skips loopback. */
export const proxyFor = (url: URL, env: Environment): URL | undefined => {
  if (url.protocol !== "https:") return undefined;
  const text = (env.HTTPS_PROXY || env.https_proxy || "").trim();
  const proxy = URL.parse(text.includes("://") ? text : `http://${text}`);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (text === "" || !proxy || isLoopback(host)) return undefined;
  const excepted = (env.NO_PROXY || env.no_proxy || "").split(",")
    .some((entry) => matches(entry.trim().toLowerCase(), host, url.port || "443"));
  return excepted ? undefined : proxy;
};

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));

const matches = (entry: string, host: string, port: string): boolean => {
  if (entry === "*") return true;
  const [, name = "", onlyPort] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(withoutIPv6Port(entry)) ?? [];
  if (name === "" || (onlyPort !== undefined && onlyPort !== port)) return false;
  if (name.includes("/")) return isIP(host) === 4 && inNetwork(host, name);
  if (isIP(host)) return host === name;
  // ".example.com" and "*.example.com" match subdomains; "example.com" also matches itself.
  const domain = name.replace(/^\*?\./, "");
  return host.endsWith(`.${domain}`) || (host === domain && name === domain);
};

/** A bare IPv6 address has colons but no port. */
const withoutIPv6Port = (entry: string): string => isIP(entry) === 6 ? `[${entry}]` : entry;

const inNetwork = (host: string, network: string): boolean => {
  const [address = "", bits = ""] = network.split("/");
  const length = Number(bits);
  if (isIP(address) !== 4 || !/^\d{1,2}$/.test(bits) || length > 32) return false;
  const mask = length === 0 ? 0 : ~0 << (32 - length);
  return (numberOf(host) & mask) === (numberOf(address) & mask);
};

const numberOf = (address: string): number =>
  address.split(".").reduce((number, part) => (number << 8) | Number(part), 0);

import { isIPv4, isIPv6 } from "node:net";
import type { Checked, TextKind } from "./flag_kinds.ts";
import { isClusterName, isDnsLabel, isDnsSubdomain, isReservedGroup } from "../api/names.ts";

/** An address to listen on. An empty hostname means every interface, port 0 a free port. */
export interface ListenAddress {
  readonly hostname: string;
  readonly port: number;
}

/** Parses `:8080`, `127.0.0.1:0` or `[::1]:80`. Returns undefined for any other text. */
export const parseListenAddress = (text: string): ListenAddress | undefined => {
  const [, inBrackets, plain = "", digits] = /^(?:\[([^\]]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(text) ??
    [];
  const port = Number(digits);
  if (digits === undefined || port > 65535) return undefined;
  if (inBrackets !== undefined) {
    return isIPv6(inBrackets) ? { hostname: inBrackets, port } : undefined;
  }
  // A number must be a whole address, because resolvers differ about texts like "127.1".
  const valid = plain === "" || isIPv4(plain) || (!/^[\d.]+$/.test(plain) && isHostname(plain));
  return valid ? { hostname: plain, port } : undefined;
};

const isHostname = (text: string) => isDnsSubdomain(text.toLowerCase());

const ADDRESS_HINT = "write host:port or :port, as in :8080, 127.0.0.1:0 or [::1]:8080";

const checkAddress = (text: string): Checked<string> =>
  parseListenAddress(text)
    ? { value: text }
    : { problem: `is not an address to listen on: ${ADDRESS_HINT}` };

/** An address to listen on. */
export const listenAddress: TextKind = { placeholder: "address", parse: checkAddress };

/** An address to listen on, or `0` for not listening. */
export const listenAddressOrOff: TextKind = {
  placeholder: "address",
  parse: (text) => text === "0" ? { value: text } : checkAddress(text),
};

/** An address to listen on that only this machine can reach. */
export const loopbackAddress: TextKind = {
  placeholder: "address",
  parse: (text) => {
    const address = parseListenAddress(text);
    if (!address) return checkAddress(text);
    const { hostname } = address;
    const loopback = hostname === "localhost" || hostname === "::1" ||
      (isIPv4(hostname) && hostname.startsWith("127."));
    return loopback
      ? { value: text }
      : { problem: `is not a loopback address: use 127.0.0.1:${address.port}` };
  },
};

const urlProblem = (text: string, query: "query" | "no query"): string | undefined => {
  if (!/^https?:\/\/[^/\\?#]/i.test(text)) {
    return "is not a URL that starts with http:// or https://";
  }
  if (/[\s\\]/.test(text) || !URL.canParse(text)) return "is not a well-formed URL";
  const url = new URL(text);
  if (url.username || url.password) return "must not contain a user name or password";
  if (text.includes("#")) return "must not contain a fragment (#…)";
  if (query === "no query" && text.includes("?")) return "must not contain a query (?…)";
  return undefined;
};

const urlKind = (query: "query" | "no query", tidy = (text: string) => text): TextKind => ({
  placeholder: "url",
  parse: (text) => {
    const problem = urlProblem(text, query);
    return problem === undefined ? { value: tidy(text) } : { problem };
  },
});

/** An http(s) URL without a query or fragment, kept as it is written. */
export const plainUrl: TextKind = urlKind("no query");

/** The https URL of an API server, in the form that clients accept in a bundle. */
export const apiServerUrl: TextKind = {
  placeholder: "url",
  parse: (text) => {
    if (!text.startsWith("https://")) {
      return { problem: "is not a URL that starts with https://: credentials go there" };
    }
    const problem = urlProblem(text, "no query") ??
      (/^[!-?A-~]+$/.test(text) ? undefined : "must hold ASCII characters only, and no @");
    return problem === undefined ? { value: text } : { problem };
  },
};

/** An http(s) URL without query, fragment or final slashes, so that paths can be appended. */
export const baseUrl: TextKind = urlKind("no query", (text) => text.replace(/\/+$/, ""));

/** An http(s) URL without a fragment, as OAuth asks of a redirect target. */
export const redirectUrl: TextKind = urlKind("query");

/** The name of a file. It is read later. */
export const file: TextKind = { placeholder: "file", parse: (value) => ({ value }) };

const matching = (placeholder: string, test: (text: string) => boolean, problem: string) => ({
  placeholder,
  parse: (value: string): Checked<string> => test(value) ? { value } : { problem },
});

/** A container image. */
export const image: TextKind = matching(
  "image",
  (text) => /^[!-~]+$/.test(text),
  "is not an image reference, as in registry.example.com/konnector:v1",
);

/** A name that Kubernetes objects can have. */
export const dnsSubdomain: TextKind = matching(
  "name",
  isDnsSubdomain,
  "is not a DNS subdomain: use lower-case letters, digits, - and ., at most 253 characters",
);

/** The name of a namespace. */
export const namespace: TextKind = matching(
  "namespace",
  isDnsLabel,
  "is not the name of a namespace: use lower-case letters, digits and -, at most 63 characters",
);

/** The name that people give a cluster. */
export const clusterName: TextKind = matching(
  "name",
  isClusterName,
  "is not a name for a cluster: use letters, digits, blanks and ._- inside, at most 63 characters",
);

const METADATA_KEY = /^(?:([a-z0-9.-]{1,253})\/)?([A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?|\*)$/;

/** The key of a label or annotation, or all keys with a prefix: `team`, `example.org/*`. */
export const carriedKey: TextKind = {
  placeholder: "key",
  parse: (value) => {
    const [, prefix, name] = METADATA_KEY.exec(value) ?? [];
    const isKey = prefix === undefined ? name !== "*" : isDnsSubdomain(prefix);
    if (name === undefined || !isKey) {
      return { problem: "is not the key of a label or annotation, as in team or example.org/*" };
    }
    const isOwn = prefix !== undefined && (isReservedGroup(prefix) || prefix === KUBECTL);
    return isOwn ? { problem: "is never carried: xbind and kubectl need it" } : { value };
  },
};

/** Its annotation holds whole objects, and its others command the cluster that they are on. */
const KUBECTL = "kubectl.kubernetes.io";

/** An OAuth scope. */
export const scope: TextKind = matching(
  "scope",
  (text) => /^[!#-[\]-~]+$/.test(text),
  "is not an OAuth scope: separate scopes with commas",
);

/** Verbosity of the log. */
export const logLevel: TextKind = matching(
  "level",
  (text) => /^(?:debug|info|error|[1-9]\d{0,2})$/.test(text),
  "is not a log level: use debug, info, error or a number from 1 to 999",
);

/** The parts of a block of addresses. */
export interface Cidr {
  readonly address: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
}

/** Parses `169.254.0.0/16` or `fe80::/10`. Returns undefined for any other text. */
export const parseCidr = (text: string): Cidr | undefined => {
  const [, address = "", digits = ""] = /^([0-9a-f:.]+)\/(\d{1,3})$/i.exec(text) ?? [];
  const prefix = Number(digits);
  if (isIPv4(address) && prefix <= 32) return { address, prefix, family: "ipv4" };
  if (isIPv6(address) && prefix <= 128) return { address, prefix, family: "ipv6" };
  return undefined;
};

/** A block of addresses. */
export const cidr: TextKind = matching(
  "cidr",
  (text) => parseCidr(text) !== undefined,
  "is not a CIDR, as in 169.254.0.0/16 or fe80::/10",
);

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Decodes key bytes from base64 with any line breaks. The problem never quotes the key. */
export const keyBytes = (
  allowedLengths?: readonly number[],
) =>
(text: string): Checked<Uint8Array> => {
  const compact = text.replace(/[\r\n]/g, "");
  if (!BASE64.test(compact)) {
    return { problem: "is not standard base64: make one with openssl rand -base64 32" };
  }
  const value = Uint8Array.from(atob(compact), (char) => char.charCodeAt(0));
  if (value.length === 0) return { problem: "holds no bytes" };
  if (allowedLengths && !allowedLengths.includes(value.length)) {
    const [last, ...others] = [...allowedLengths].reverse();
    const lengths = `${others.reverse().join(", ")} or ${last}`;
    return { problem: `decodes to ${value.length} bytes: it must be ${lengths}` };
  }
  return { value };
};

const PREFIX = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,61}[:/]$/;
/** Names of Kubernetes and of kubeadm start like this. */
const RESERVED = /^(?:system|kubeadm)[:/]/i;

/** Goes before names of others, so that none of them can become a name that Kubernetes knows. */
export const namePrefix: TextKind = {
  placeholder: "prefix",
  parse: (text) => {
    if (!PREFIX.test(text)) {
      const problem = "is not a prefix: use up to 63 letters, digits and . _ : / @ -, " +
        "with a : or / at the end";
      return { problem };
    }
    return RESERVED.test(text)
      ? { problem: "leads to names of Kubernetes itself: use another, as in xbind:" }
      : { value: text };
  },
};

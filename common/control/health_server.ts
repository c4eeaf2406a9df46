import http from "node:http";
import type { AddressInfo } from "node:net";
import type { Log } from "../log/log.ts";
import { aborted, type Runnable } from "../time/runnable.ts";

/** What the metrics and probe servers show, and their addresses; `0` disables a server. */
export interface ManagerServerOptions {
  /** `host:port`, or `:port` for every interface. */
  readonly metricsAddress: string;
  readonly probeAddress: string;
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  /** Returns true if ready; otherwise false or the reason. */
  readonly ready: () => boolean | string;
  /** Returns what is amiss although it is ready. */
  readonly readyNote?: () => string | undefined;
  readonly log: Log;
}

interface Page {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
}

type Pages = Readonly<Record<string, () => Page | Promise<Page>>>;

interface Site {
  readonly address: string;
  readonly flag: string;
  readonly pages: Pages;
}

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const IDLE_TIMEOUT_MS = 60_000;
const CHECK_INTERVAL_MS = 2_000; // how late a timeout may strike; 30 s unless set
const METHODS = ["GET", "HEAD"];

/** Serves metrics and probes until the signal aborts, then closes all connections. */
export const serveManager = (options: ManagerServerOptions): Runnable => async (signal) => {
  const { log } = options;
  const servers: http.Server[] = [];
  try {
    for (const site of sitesOf(options)) {
      const server = await listen(site, log);
      servers.push(server);
      log.info("listening", {
        address: urlOf(server.address() as AddressInfo),
        paths: Object.keys(site.pages),
      });
    }
    await Promise.race([aborted(signal), ...servers.map(failure)]);
  } finally {
    await Promise.all(servers.map(close));
  }
};

function sitesOf(options: ManagerServerOptions): Site[] {
  const { metricsAddress, probeAddress, metrics, ready, readyNote } = options;
  const metricsSite: Site = {
    address: metricsAddress,
    flag: "--metrics-bind-address",
    pages: {
      "/metrics": async () => ({
        status: 200,
        body: await metrics.text(),
        contentType: metrics.contentType,
      }),
    },
  };
  const probeSite: Site = {
    address: probeAddress,
    flag: "--health-probe-bind-address",
    pages: {
      "/healthz": () => ({ status: 200, body: "ok" }),
      "/readyz": () => readiness(ready(), readyNote?.()),
    },
  };
  const sites = metricsAddress === probeAddress
    ? [{
      address: metricsAddress,
      flag: `${metricsSite.flag}, ${probeSite.flag}`,
      pages: { ...metricsSite.pages, ...probeSite.pages },
    }]
    : [metricsSite, probeSite];
  return sites.filter(({ address }) => address !== "0");
}

const readiness = (result: boolean | string, note: string | undefined): Page =>
  result === true
    ? { status: 200, body: note === undefined ? "ok" : `ok, but ${note}` }
    : { status: 503, body: `not ready${result === false ? "" : `: ${result}`}` };

async function listen(site: Site, log: Log): Promise<http.Server> {
  const server = http.createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
  }, (request, response) => void answer(site.pages, request, response, log));
  const colon = site.address.lastIndexOf(":");
  const host = site.address.slice(0, colon).replace(/^\[|\]$/g, "");
  const port = Number(site.address.slice(colon + 1));
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => reject(cannotListen(site, cause)));
    // Without a host the server listens on IPv6 and IPv4.
    server.listen({ port, ...(host ? { host } : {}) }, resolve);
  });
  return server;
}

async function answer(
  pages: Pages,
  request: http.IncomingMessage,
  response: http.ServerResponse,
  log: Log,
): Promise<void> {
  const { status, body, contentType } = await pageFor(pages, request, log);
  const bytes = new TextEncoder().encode(body);
  response.writeHead(status, {
    "Content-Type": contentType ?? "text/plain; charset=utf-8",
    "Content-Length": bytes.length,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    ...(status === 405 ? { Allow: METHODS.join(", ") } : {}),
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

async function pageFor(pages: Pages, request: http.IncomingMessage, log: Log): Promise<Page> {
  const [path = ""] = (request.url ?? "").split("?");
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (!page) return { status: 404, body: "not found" };
  if (!METHODS.includes(request.method ?? "")) return { status: 405, body: "method not allowed" };
  try {
    return await page();
  } catch (error) {
    log.error("page failed", { path, error });
    return { status: 500, body: "internal error" };
  }
}

const failure = (server: http.Server): Promise<never> =>
  new Promise((_, reject) => void server.once("error", reject));

const close = (server: http.Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the address is in use",
  EADDRNOTAVAIL: "this machine does not have the address",
  EACCES: "permission denied",
  ENOTFOUND: "the host name is unknown",
};

function cannotListen({ address, flag }: Site, cause: Error): Error {
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  const reason = REASONS[code] ?? cause.message;
  return new Error(`Cannot listen on "${address}" (${flag}): ${reason}`, { cause });
}

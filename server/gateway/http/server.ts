import { getRequestListener, type HttpBindings, RequestError } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { ErrorBody } from "../../../common/api/wire.ts";
import { parseListenAddress } from "../../../common/flags/flag_values.ts";
import type { Log } from "../../../common/log/log.ts";
import { aborted, type Runnable } from "../../../common/time/runnable.ts";
import { sleep } from "../../../common/time/wait.ts";
import { lingering } from "./lingering.ts";
import { oneAtATime } from "./one_at_a_time.ts";
import { SECURITY_HEADERS } from "./security_headers.ts";
import { sentDirectly } from "./send_bytes.ts";

/** What `listen` needs. */
export interface HttpServerOptions {
  readonly fetch: (request: Request, env: HttpBindings) => Response | Promise<Response>;
  readonly log: Log;
}

/** A server that listens; `run` returns once the signal aborted and open requests ended. */
export interface ListeningServer {
  readonly port: number;
  readonly run: Runnable;
}

const HEADERS_TIMEOUT_MS = 10_000;
/** Time limit for receiving a whole request; routes with small bodies have a shorter one. */
const REQUEST_TIMEOUT_MS = 75_000;
const IDLE_TIMEOUT_MS = 60_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Keep accepting for a moment: load balancers learn late that this replica stops. */
const STILL_ACCEPTING_MS = 3_000;
const DRAIN_MS = 5_000;

/** Listens on the address, or fails with a message that names the flag. */
export async function listen(
  address: string,
  { fetch, log }: HttpServerOptions,
): Promise<ListeningServer> {
  const { hostname, port } = parseListenAddress(address) ?? { hostname: "", port: 8080 };
  const serve = async (request: Request, env: unknown): Promise<Response> => {
    const bindings = env as HttpBindings;
    const response = await fetch(request, bindings);
    return sentDirectly(response, bindings.outgoing) ? RESPONSE_ALREADY_SENT : response;
  };
  const server = http.createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
    oneAtATime(lingering(
      getRequestListener(serve, {
        overrideGlobalObjects: false,
        errorHandler: answerUnserved(log),
        autoCleanupIncoming: false, // it would disconnect after half a second, too soon under load
      }),
    )),
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: Error & { code?: string }) => {
      const reason = cause.code === "EADDRINUSE" ? "the address is in use" : cause.message;
      reject(new Error(`Cannot listen on --listen-address ${address}: ${reason}`, { cause }));
    });
    server.listen({ port, ...(hostname ? { host: hostname } : {}) }, resolve);
  });
  const actual = server.address() as AddressInfo;
  log.info("listening", { address: `http://${hostText(actual)}:${actual.port}`, paths: ["/"] });
  return {
    port: actual.port,
    run: async (signal) => {
      await aborted(signal);
      await drain(server);
    },
  };
}

/** Answers requests that cannot reach the app because path and Host form no valid URL. */
const answerUnserved = (log: Log) => (error: unknown): Response => {
  const isUnreadable = error instanceof RequestError;
  if (!isUnreadable) log.error("a request failed unexpectedly", { error });
  const body: ErrorBody = {
    error: isUnreadable
      ? "Cannot read the request: its path and Host header make no URL"
      : "Cannot serve the request: an unexpected failure",
  };
  return Response.json(body, { status: isUnreadable ? 400 : 500, headers: SECURITY_HEADERS });
};

async function drain(server: http.Server): Promise<void> {
  await sleep(STILL_ACCEPTING_MS);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  await Promise.race([closed, sleep(DRAIN_MS)]);
  server.closeAllConnections();
}

const hostText = ({ address, family }: AddressInfo): string =>
  family === "IPv6" ? `[${address}]` : address;

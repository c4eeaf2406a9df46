import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { deadline } from "../../runtime/deadline.ts";
import { exchange, hostAndPort, NoAnswerError, readText } from "../../runtime/http_exchange.ts";
import { VERSION } from "../../version.ts";
import { type Environment, proxyFor } from "./proxy_for.ts";

/** How the identity provider is reached. */
export interface IdpFetchOptions {
  /** PEM certificates that replace the system's roots. */
  readonly caPem?: string | undefined;
  /** Opens tunnels, and names the proxies; without it every connection is direct. */
  readonly proxy?: {
    readonly env: Environment;
    readonly connect: (proxyUrl: URL, host: string, port: number) => Promise<Duplex>;
  } | undefined;
  /** Of each call, from the look-up of the name to the last byte; 10 s unless given. */
  readonly timeoutMs?: number | undefined;
}

/** What a call may say; the shape that OAuth libraries use. */
export interface IdpRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | null | undefined;
}

/** One call to the identity provider: sent once, no redirect followed, the answer read whole. */
export type IdpFetch = (url: string, request?: IdpRequest) => Promise<Response>;

/** No usable answer came from the identity provider; nothing is said of what was sent. */
export class IdpUnreachableError extends Error {
  override readonly name = "IdpUnreachableError";
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Calls to the identity provider through our own transport, with bounds on time and size. */
export const createIdpFetch =
  (options: IdpFetchOptions): IdpFetch => async (target, request = {}) => {
    const url = new URL(target);
    const { timeoutMs = TIMEOUT_MS } = options;
    using limit = deadline(
      timeoutMs,
      request.signal ?? undefined,
      new IdpUnreachableError(`no answer within ${timeoutMs / 1000} s`),
    );
    const agent = agentFor(url, options);
    try {
      const answer = await exchange(new URL(url.origin), agent, {
        method: request.method ?? "GET",
        path: url.pathname + url.search,
        headers: { ...request.headers, "User-Agent": `xbind-backend/${VERSION}` },
        body: request.body === undefined || request.body === null
          ? undefined
          : String(request.body),
      }, limit.signal);
      return asResponse(answer, await readText(answer, MAX_ANSWER_BYTES, limit.signal));
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error;
      throw new IdpUnreachableError(error.message);
    } finally {
      agent.destroy();
    }
  };

const asResponse = (answer: http.IncomingMessage, text: string): Response => {
  const status = answer.statusCode ?? 0;
  if (status < 200 || status > 599) throw new IdpUnreachableError(`it answered ${status}`);
  // All that a caller needs; cookies and the like stay here.
  const headers = { "Content-Type": answer.headers["content-type"] ?? "" };
  return new Response([204, 205, 304].includes(status) ? null : text, { status, headers });
};

/** A connection of its own for each call: they are rare, and a kept one may be dead by the next. */
const agentFor = (url: URL, { caPem, proxy }: IdpFetchOptions): http.Agent => {
  if (url.protocol === "http:") return new http.Agent({ keepAlive: false });
  const trust = caPem === undefined ? {} : { ca: caPem };
  const agent = new https.Agent({ keepAlive: false, ...trust });
  const proxyUrl = proxy && proxyFor(url, proxy.env);
  if (!proxy || !proxyUrl) return agent;
  const { host, port } = hostAndPort(url);
  const nameForTls = isIP(host) ? {} : { servername: host };
  return Object.assign(agent, {
    createConnection(_: unknown, done: (error: Error | null, socket?: Duplex) => void) {
      proxy.connect(proxyUrl, host, port)
        .then((socket) => connectTls({ host, ...nameForTls, ...trust, socket }))
        .then((socket) => done(null, socket), done);
    },
  });
};

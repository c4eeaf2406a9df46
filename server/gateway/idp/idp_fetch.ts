import { deadline } from "../../../common/time/deadline.ts";
import { exchangeText, NoAnswerError, type TextAnswer } from "../../../common/http/exchange.ts";
import {
  webConnections,
  type WebConnectionsOptions,
} from "../../../common/http/web_connections.ts";
import { VERSION } from "../../../common/version.ts";

/** How to reach the identity provider. */
export interface IdpFetchOptions extends WebConnectionsOptions {
  /** Time limit of each request, from the DNS lookup to the last byte; 10 s unless given. */
  readonly timeoutMs?: number | undefined;
}

/** A request in the shape that OAuth libraries use. */
export interface IdpRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | null | undefined;
}

/** Sends one request to the identity provider. No retry, no redirect; reads the whole answer. */
export type IdpFetch = (url: string, request?: IdpRequest) => Promise<Response>;

/** The identity provider gave no usable answer. The message holds nothing of the request. */
export class IdpUnreachableError extends Error {
  override readonly name = "IdpUnreachableError";
}

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Creates an `IdpFetch` over our own transport, with limits on time and size. */
export const createIdpFetch =
  (options: IdpFetchOptions): IdpFetch => async (target, request = {}) => {
    const url = new URL(target);
    const { timeoutMs = TIMEOUT_MS } = options;
    using limit = deadline(
      timeoutMs,
      request.signal ?? undefined,
      new IdpUnreachableError(`no answer within ${timeoutMs / 1000} s`),
    );
    using connections = webConnections(url, options);
    try {
      const answer = await exchangeText(new URL(url.origin), connections, {
        method: request.method ?? "GET",
        path: url.pathname + url.search,
        headers: { ...request.headers, "User-Agent": `xbind-backend/${VERSION}` },
        body: request.body === undefined || request.body === null
          ? undefined
          : String(request.body),
      }, { maxBytes: MAX_ANSWER_BYTES, signal: limit.signal });
      return asResponse(answer);
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error;
      throw new IdpUnreachableError(error.message);
    }
  };

const asResponse = ({ status, header, text }: TextAnswer): Response => {
  if (status < 200 || status > 599) throw new IdpUnreachableError(`it answered ${status}`);
  // Callers need no other header; cookies are dropped.
  const headers = { "Content-Type": header("content-type") ?? "" };
  return new Response([204, 205, 304].includes(status) ? null : text, { status, headers });
};

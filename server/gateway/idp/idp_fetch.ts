import { deadline } from "../../../common/time/deadline.ts";
import { exchangeText, NoAnswerError, type TextAnswer } from "../../../common/http/exchange.ts";
import {
  webConnections,
  type WebConnectionsOptions,
} from "../../../common/http/web_connections.ts";
import { VERSION } from "../../../common/version.ts";

/** How the identity provider is reached. */
export interface IdpFetchOptions extends WebConnectionsOptions {
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
  // All that a caller needs; cookies and the like stay here.
  const headers = { "Content-Type": header("content-type") ?? "" };
  return new Response([204, 205, 304].includes(status) ? null : text, { status, headers });
};

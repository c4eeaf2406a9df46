import { isTrustFault } from "../http/exchange.ts";
import { Backoff } from "../time/backoff.ts";
import { sleep } from "../time/wait.ts";
import { errorFromAnswer, KubeError } from "./kube_error.ts";
import type { Transport, TransportAnswer, TransportRequest } from "./transport.ts";

const MAX_TRIES = 4;
const RETRY_LIMITS = { baseMs: 100, capMs: 2_000 };
const MAX_RETRY_AFTER_MS = 10_000;

/**
 * Sends a request and returns its successful answer. Retries reads after a 5xx or a lost
 * connection. Retries writes only if the server cannot have acted on them.
 */
export async function sendPatiently(
  transport: Transport,
  request: TransportRequest,
): Promise<TransportAnswer> {
  const backoff = new Backoff(RETRY_LIMITS);
  for (let tries = 1;; tries++) {
    const failure = await sendWithRenewal(transport, request).then(
      (answer) => answer.status < 300 ? answer : answerError(request, answer),
      (error) => error instanceof KubeError ? error : Promise.reject(error),
    );
    if (!(failure instanceof KubeError)) return failure;
    if (tries >= MAX_TRIES || !mayRetry(request.method, failure)) throw failure;
    await sleep(failure.retryAfterMs ?? backoff.next(), request.signal);
  }
}

/** A 401 means the request had no effect. Sends it once more with renewed credentials. */
async function sendWithRenewal(
  transport: Transport,
  request: TransportRequest,
): Promise<TransportAnswer> {
  const answer = await transport.send(request);
  if (answer.status !== 401 || !await transport.renewCredentials(answer)) return answer;
  return await transport.send(request);
}

function mayRetry(method: string, failure: KubeError): boolean {
  if (failure.status === 429) return true;
  if (failure.reason === "ConnectionFailed") return !isTrustFault((failure.cause as Error).cause);
  if (method !== "GET") return false;
  return failure.status >= 500 || failure.reason === "ConnectionLost";
}

/** Builds the error of a failed answer, with the server's `Retry-After`. */
export function answerError(request: TransportRequest, answer: TransportAnswer): KubeError {
  const seconds = Number(answer.header("retry-after"));
  const retryAfterMs = seconds > 0 ? Math.min(seconds * 1000, MAX_RETRY_AFTER_MS) : undefined;
  return errorFromAnswer(request.attempt, answer.status, answer.text, retryAfterMs);
}

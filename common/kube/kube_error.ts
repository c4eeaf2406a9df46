import { XbindError } from "../errors.ts";

/** A `Status` object as the API server sends it with a failure. */
export interface KubeStatus {
  readonly reason?: string;
  readonly message?: string;
  readonly code?: number;
  readonly details?: { readonly retryAfterSeconds?: number; readonly name?: string };
}

/** Details of a `KubeError`. */
export interface KubeErrorInit {
  /** The HTTP status; 0 if no answer arrived. */
  readonly status: number;
  /** The reason that Kubernetes gave (`NotFound`, `Conflict`, …), or ours for a missing answer. */
  readonly reason: string;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** A failed call to a Kubernetes API, with the reason that Kubernetes gave. */
export class KubeError extends XbindError {
  override readonly name: string = "KubeError";
  readonly status: number;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, init: KubeErrorInit) {
    super("PROVIDER_FAILED", message, init.cause === undefined ? {} : { cause: init.cause });
    this.status = init.status;
    this.reason = init.reason;
    this.retryAfterMs = init.retryAfterMs;
  }
}

const hasReason = (error: unknown, ...reasons: string[]): boolean =>
  error instanceof KubeError && reasons.includes(error.reason);

/** Returns whether the object does not exist. */
export const isNotFound = (error: unknown): boolean => hasReason(error, "NotFound");
/** Returns whether an object of that name exists. */
export const isAlreadyExists = (error: unknown): boolean => hasReason(error, "AlreadyExists");
/** Returns whether the object changed since it was read, or a precondition failed. */
export const isConflict = (error: unknown): boolean => hasReason(error, "Conflict");
/** Returns whether the resourceVersion or continue token has expired: list again. */
export const isExpired = (error: unknown): boolean => hasReason(error, "Expired", "Gone");
/** Returns whether the caller's account lacks the right. */
export const isForbidden = (error: unknown): boolean => hasReason(error, "Forbidden");

/** Returns whether the answer was longer than we accept. */
export const isTooLarge = (error: unknown): boolean => hasReason(error, "AnswerTooLarge");

/** Returns whether a watch was open but silent for too long. */
export const isSilence = (error: unknown): boolean => hasReason(error, "Silence");

/** Returns whether no connection to the API server came about. */
export const isUnreachable = (error: unknown): boolean => hasReason(error, "ConnectionFailed");

/** Returns whether the API server or the network failed, so the outcome is unknown. */
export const isServerFailure = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 0 || error.status >= 500);

const REASON_BY_STATUS: Record<number, string> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** Builds the error of a failed answer. `body` is a `Status`, or text of a proxy. */
export function errorFromAnswer(
  attempt: string,
  status: number,
  body: string,
  retryAfterMs?: number,
): KubeError {
  const sent = parseStatus(body);
  const reason = sent.reason || REASON_BY_STATUS[status] || "Unknown";
  const detail = sent.message ? limit(sent.message) : `the server answered ${status}`;
  return new KubeError(`${attempt}: ${detail}`, {
    status,
    reason,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** Builds the error of an `ERROR` event in a watch. */
export function errorFromEvent(attempt: string, status: KubeStatus): KubeError {
  const code = typeof status.code === "number" ? status.code : 500;
  return errorFromAnswer(attempt, code, JSON.stringify(status));
}

function parseStatus(body: string): KubeStatus {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value !== "object" || value === null || !("kind" in value)) return {};
    const { kind, reason, message } = value as Record<string, unknown>;
    if (kind !== "Status") return {};
    return {
      ...(typeof reason === "string" ? { reason } : {}),
      ...(typeof message === "string" ? { message } : {}),
    };
  } catch {
    return {};
  }
}

const limit = (text: string): string => text.length > 1000 ? `${text.slice(0, 1000)}…` : text;

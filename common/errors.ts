/** The kind of a failure. Only the gateway turns it into an HTTP status. */
export type ErrorCode =
  | "INVALID_REQUEST"
  | "KUBECONFIG_REJECTED"
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "EXPORT_NOT_FOUND"
  | "PICKUP_GONE"
  | "TOO_LARGE"
  | "TOO_MANY_REQUESTS"
  | "EXPORT_NOT_READY"
  | "PROVIDER_FAILED"
  | "APPLY_FAILED"
  | "UNAVAILABLE"
  | "GRANT_NOT_READY";

/** Options of an `XbindError`. */
export interface XbindErrorOptions extends ErrorOptions {
  /** When to retry; the gateway sends it as `Retry-After`. */
  readonly retryAfterSeconds?: number;
}

/** A failure the caller can be told about. Anything else that is thrown is a bug. */
export class XbindError extends Error {
  override readonly name: string = "XbindError";
  readonly retryAfterSeconds: number | undefined;

  constructor(readonly code: ErrorCode, message: string, options: XbindErrorOptions = {}) {
    super(message, options);
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The provider cluster failed. `action` follows "Cannot"; `reason` quotes no upstream text. */
export const providerFailed = (action: string, reason: string, cause?: unknown) =>
  new XbindError("PROVIDER_FAILED", `Cannot ${action}: ${reason}`, { cause });

const MAX_CAUSES = 10;

/** Joins the messages of an error and its causes by ": ", each once. */
export const errorChain = (error: unknown): string => {
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && current !== undefined && current !== null; depth++) {
    const message = messageOf(current);
    if (!parts.some((part) => part.includes(message))) parts.push(message);
    current = current instanceof Error ? current.cause : undefined;
  }
  return parts.length > 0 ? parts.join(": ") : String(error);
};

const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return describe(error);
  const message = error.message || error.name;
  if (!(error instanceof AggregateError) || error.errors.length === 0) return message;
  const inner = [...new Set(error.errors.slice(0, MAX_CAUSES).map((each) => describe(each)))];
  return `${message} (${inner.join("; ")})`;
};

const describe = (thrown: unknown): string => {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  try {
    return (typeof thrown === "object" ? JSON.stringify(thrown) : undefined) ?? String(thrown);
  } catch {
    return "an unreadable value was thrown";
  }
};

/** What went wrong, in the words of the specification; only the HTTP edge turns a code into a status. */
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

/** What an XbindError may carry besides its code and message. */
export interface XbindErrorOptions extends ErrorOptions {
  /** When trying again makes sense; the edge sends it as `Retry-After`. */
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

/** The request itself is wrong; the message says which part. */
export const invalidRequest = (message: string, cause?: unknown) =>
  new XbindError("INVALID_REQUEST", message, { cause });

/** A submitted kubeconfig asks for more than is done for strangers; the reason holds none of it. */
export const kubeconfigRejected = (reason: string) =>
  new XbindError("KUBECONFIG_REJECTED", `Cannot use the submitted kubeconfig: ${reason}`);

/** Nobody is signed in, or the credential is not accepted. */
export const unauthenticated = (reason: string, cause?: unknown) =>
  new XbindError("UNAUTHENTICATED", `Cannot authenticate: ${reason}`, { cause });

/** The caller is known but this request is refused, as for a cross-site post. */
export const forbidden = (message: string) => new XbindError("FORBIDDEN", message);

/** No Export of that name exists on the provider. */
export const exportNotFound = (name: string) =>
  new XbindError("EXPORT_NOT_FOUND", `Cannot find Export "${name}"`);

/** The Export exists and cannot be bound yet. */
export const exportNotReady = (name: string) =>
  new XbindError("EXPORT_NOT_READY", `Cannot bind Export "${name}": it is not Ready`);

/** One answer for unknown, expired and consumed pickups, so that none can be told from another. */
export const pickupGone = () =>
  new XbindError(
    "PICKUP_GONE",
    "Cannot pick up the bundle: the URL is unknown, expired or already used; bind again",
  );

/** The issuer did not mark the Grant Ready in time; the same request may be repeated. */
export const grantNotReady = (name: string) =>
  new XbindError(
    "GRANT_NOT_READY",
    `Cannot finish the bind: Grant "${name}" did not become Ready in time; try again`,
  );

/** The provider cluster failed us: `action` reads after "Cannot", `reason` holds no upstream text. */
export const providerFailed = (action: string, reason: string, cause?: unknown) =>
  new XbindError("PROVIDER_FAILED", `Cannot ${action}: ${reason}`, { cause });

/** Applying to the consumer cluster failed; objects applied before stay. */
export const applyFailed = (action: string, reason: string, cause?: unknown) =>
  new XbindError("APPLY_FAILED", `Cannot ${action}: ${reason}`, { cause });

/** The request body is longer than its route allows. */
export const tooLarge = (limitBytes: number) =>
  new XbindError("TOO_LARGE", `Cannot read the request: its body is over ${limitBytes} bytes`);

/** The caller sends more than `--rate-limit` allows. */
export const tooManyRequests = (retryAfterSeconds: number) =>
  new XbindError("TOO_MANY_REQUESTS", "Cannot serve the request: too many in a short time", {
    retryAfterSeconds,
  });

/** The gateway cannot serve this right now, and will again soon. */
export const unavailable = (action: string, reason: string, retryAfterSeconds: number) =>
  new XbindError("UNAVAILABLE", `Cannot ${action}: ${reason}`, { retryAfterSeconds });

const MAX_CAUSES = 10;

/** The message of whatever was thrown and of its causes, joined by ": ", nothing said twice. */
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

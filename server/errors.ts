import { XbindError } from "../common/errors.ts";

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

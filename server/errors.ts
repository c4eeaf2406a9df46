import { XbindError } from "../common/errors.ts";

/** Reports a malformed request; the message says which part is wrong. */
export const invalidRequest = (message: string, cause?: unknown) =>
  new XbindError("INVALID_REQUEST", message, { cause });

/** Refuses a submitted kubeconfig with a field that is not allowed; the reason quotes no values. */
export const kubeconfigRejected = (reason: string) =>
  new XbindError("KUBECONFIG_REJECTED", `Cannot use the submitted kubeconfig: ${reason}`);

/** Reports a missing credential, or one that is not accepted. */
export const unauthenticated = (reason: string, cause?: unknown) =>
  new XbindError("UNAUTHENTICATED", `Cannot authenticate: ${reason}`, { cause });

/** Refuses a request of a signed-in caller, such as a cross-site POST. */
export const forbidden = (message: string) => new XbindError("FORBIDDEN", message);

/** What a caller was refused, for the audit log. */
export interface Refusal {
  readonly subject: string;
  /** The name under which RBAC knows the caller. */
  readonly user: string;
  readonly verb: "get" | "bind";
  readonly export: string;
}

/** The provider's RBAC does not allow it. */
export class AccessRefused extends XbindError {
  override readonly name = "AccessRefused";

  constructor(code: "FORBIDDEN" | "EXPORT_NOT_FOUND", message: string, readonly refusal: Refusal) {
    super(code, message);
  }
}

/** Refuses a bind, and names what is missing. */
export const mayNotBind = (refusal: Refusal) =>
  new AccessRefused(
    "FORBIDDEN",
    `Cannot bind Export "${refusal.export}": ${refusal.user} lacks the verb "${refusal.verb}" on ` +
      `exports.catalog.xbind.io "${refusal.export}"; ask the provider for it`,
    refusal,
  );

/** Refuses an Export that the caller may not see, exactly as if it did not exist. */
export const mayNotSee = (refusal: Refusal) =>
  new AccessRefused("EXPORT_NOT_FOUND", exportNotFound(refusal.export).message, refusal);

/** Reports that the provider has no Export of that name. */
export const exportNotFound = (name: string) =>
  new XbindError("EXPORT_NOT_FOUND", `Cannot find Export "${name}"`);

/** Reports that the Export exists but cannot be bound yet. */
export const exportNotReady = (name: string) =>
  new XbindError("EXPORT_NOT_READY", `Cannot bind Export "${name}": it is not Ready`);

/** Refuses unknown, expired and consumed pickups with one message, so that it reveals nothing. */
export const pickupGone = () =>
  new XbindError(
    "PICKUP_GONE",
    "Cannot pick up the bundle: the URL is unknown, expired or already used; bind again",
  );

/** Reports that the issuer did not make the Grant Ready in time; the caller may retry. */
export const grantNotReady = (name: string) =>
  new XbindError(
    "GRANT_NOT_READY",
    `Cannot finish the bind: Grant "${name}" did not become Ready in time; try again`,
  );

/** Reports a failed write to the consumer cluster; objects applied before it stay. */
export const applyFailed = (action: string, reason: string, cause?: unknown) =>
  new XbindError("APPLY_FAILED", `Cannot ${action}: ${reason}`, { cause });

/** Refuses a request body that is longer than its route allows. */
export const tooLarge = (limitBytes: number) =>
  new XbindError("TOO_LARGE", `Cannot read the request: its body is over ${limitBytes} bytes`);

/** Refuses a caller that sends more requests than `--rate-limit` allows. */
export const tooManyRequests = (retryAfterSeconds: number) =>
  new XbindError("TOO_MANY_REQUESTS", "Cannot serve the request: too many in a short time", {
    retryAfterSeconds,
  });

/** Reports that the gateway cannot serve a request now; the caller may retry soon. */
export const unavailable = (action: string, reason: string, retryAfterSeconds: number) =>
  new XbindError("UNAVAILABLE", `Cannot ${action}: ${reason}`, { retryAfterSeconds });

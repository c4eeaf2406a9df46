import type { ErrorHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { ErrorBody } from "../../../common/api/wire.ts";
import { type ErrorCode, XbindError } from "../../../common/errors.ts";
import { isServerFailure, KubeError } from "../../../common/kube/kube_error.ts";
import { auditLine } from "../../../common/log/audit_line.ts";
import type { Log } from "../../../common/log/log.ts";
import { AccessRefused } from "../../errors.ts";
import type { Env } from "../env.ts";

/** The HTTP status of each error code. */
const STATUS = {
  INVALID_REQUEST: 400,
  KUBECONFIG_REJECTED: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  EXPORT_NOT_FOUND: 404,
  PICKUP_GONE: 410,
  TOO_LARGE: 413,
  TOO_MANY_REQUESTS: 429,
  EXPORT_NOT_READY: 502,
  PROVIDER_FAILED: 502,
  APPLY_FAILED: 502,
  UNAVAILABLE: 503,
  GRANT_NOT_READY: 504,
} as const satisfies Record<ErrorCode, ContentfulStatusCode>;

/**
 * Answers with the message of the error and no details: as JSON, or as plain text on login routes,
 * where users see it. Calls `onOutage` if the provider cluster failed.
 */
export const errorResponse = (onOutage: () => void): ErrorHandler<Env> => (error, c) => {
  const known = error instanceof XbindError ? error : undefined;
  if (
    known?.code === "PROVIDER_FAILED" && (isServerFailure(known) || isServerFailure(known.cause))
  ) {
    onOutage();
  }
  const status = known ? STATUS[known.code] : 500;
  const log = c.get("log");
  logRefusal(log, known);
  if (!known) log.error("a request failed unexpectedly", { error });
  else if (status >= 500) log.warn("a request failed", { errorCode: known.code, error });
  if (status === 401) c.header("WWW-Authenticate", "Bearer");
  if (known?.retryAfterSeconds !== undefined) {
    c.header("Retry-After", String(known.retryAfterSeconds));
  }
  const message = known ? publicMessage(known) : "Cannot serve the request: an unexpected failure";
  return c.req.path.startsWith("/api/auth/")
    ? c.text(`${message}\n`, status)
    : c.json<ErrorBody>({ error: message }, status);
};

/** Logs what RBAC refused, however the route told it to the caller. */
const logRefusal = (log: Log, error: XbindError | undefined): void => {
  const refused = error?.cause instanceof AccessRefused ? error.cause : error;
  if (!(refused instanceof AccessRefused)) return;
  log.info("access refused", auditLine("access", refused.code, { ...refused.refusal }));
};

/** Hides messages of Kubernetes, which may name addresses and objects of other users. */
const publicMessage = (error: XbindError): string =>
  error instanceof KubeError
    ? "Cannot serve the request: the provider cluster failed"
    : error.message;

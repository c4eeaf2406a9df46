import { XbindError } from "../errors.ts";
import type { LogFields } from "./log.ts";

/**
 * Lists the codes of audit lines and the `source` of each. Lines of requests have the caller's
 * address instead of a `source`. The meaning of a code never changes; `docs/audit.md` explains
 * each.
 */
export const AUDIT_CODES = {
  "login": "request",
  "logout": "request",
  "bind": "request",
  "pickup": "request",
  "apply": "request",
  "kubeconfig": "request",
  "review": "request",
  "issued-token": "request",
  "access": "request",
  "grant.provisioned": "issuer",
  "grant.not-provisioned": "issuer",
  "grant.revoked": "issuer",
  "grant.not-revoked": "issuer",
  "grant.vanished": "issuer",
  "grant.unauthorized": "issuer",
  "grant.authorized": "issuer",
  "authorization.hold": "issuer",
  "grant.stale": "reaper",
  "grant.fresh": "reaper",
  "grant.reaped": "reaper",
  "boundary.reaped": "reaper",
  "reaper.hold": "reaper",
  "leader": "leader",
} as const;

/** Names the kind of event in an audit line. */
export type AuditCode = keyof typeof AUDIT_CODES;

/** Builds the fields of an audit line: the event, its outcome, its source, and the given fields. */
export const auditLine = (code: AuditCode, outcome: string, fields: LogFields = {}): LogFields => {
  const source = AUDIT_CODES[code];
  // The log of a request already has its id and the caller's address.
  return { code, outcome, ...(source === "request" ? {} : { source }), ...fields };
};

/** Returns the outcome for an operation that threw this error. */
export const outcomeOf = (error: unknown): string =>
  error instanceof XbindError ? error.code : "UNEXPECTED";

import { XbindError } from "../errors.ts";
import type { LogFields } from "./log.ts";

/**
 * Everything that leaves an audit line, and where it happens; the codes never change their meaning.
 * Lines about requests carry the caller's address instead. `docs/audit.md` explains each.
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
  "grant.provisioned": "issuer",
  "grant.not-provisioned": "issuer",
  "grant.revoked": "issuer",
  "grant.not-revoked": "issuer",
  "grant.vanished": "issuer",
  "grant.stale": "reaper",
  "grant.fresh": "reaper",
  "grant.reaped": "reaper",
  "boundary.reaped": "reaper",
  "reaper.hold": "reaper",
  "leader": "leader",
} as const;

/** What kind of event an audit line tells. */
export type AuditCode = keyof typeof AUDIT_CODES;

/** The fields of an audit line: what happened, how it ended, where, and whatever tells it apart. */
export const auditLine = (code: AuditCode, outcome: string, fields: LogFields = {}): LogFields => {
  const source = AUDIT_CODES[code];
  // A request's log knows its id and its caller's address already.
  return { code, outcome, ...(source === "request" ? {} : { source }), ...fields };
};

/** The outcome of what threw this. */
export const outcomeOf = (error: unknown): string =>
  error instanceof XbindError ? error.code : "UNEXPECTED";

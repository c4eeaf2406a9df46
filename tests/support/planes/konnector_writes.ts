import type { AuditEvent } from "../../../scripts/controlplane/audit_events.ts";
import { eventsDuring, type Watched } from "./requests_during.ts";

const WRITES = ["create", "update", "patch", "delete", "deletecollection"];

/** Returns the writes of konnectors on each plane during `run`, as `verb resource`. */
export async function konnectorWrites(
  planes: readonly Watched[],
  run: () => Promise<unknown>,
): Promise<string[][]> {
  const all = await konnectorRequests(planes, run);
  return all.map((requests) => requests.filter(isWrite).map(requestText));
}

/** Returns the requests of konnectors on each plane during `run`, without watches. */
export async function konnectorRequests(
  planes: readonly Watched[],
  run: () => Promise<unknown>,
): Promise<AuditEvent[][]> {
  return (await eventsDuring(planes, run)).map((events) =>
    events.filter(({ verb, userAgent }) =>
      verb !== "watch" && (userAgent?.startsWith("xbind-konnector/") ?? false)
    )
  );
}

/** Writes a request as `verb resource`. */
export const requestText = ({ verb, objectRef, requestURI }: AuditEvent): string => {
  const { resource, subresource } = objectRef ?? {};
  return `${verb} ${resource ?? requestURI}${subresource ? `/${subresource}` : ""}`;
};

/** Heartbeats, Events and questions about one's own rights do not count. */
const isWrite = ({ verb, objectRef }: AuditEvent): boolean =>
  WRITES.includes(verb) && !["leases", "events"].includes(objectRef?.resource ?? "") &&
  !objectRef?.resource?.startsWith("selfsubject");

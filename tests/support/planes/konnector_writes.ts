import { type AuditEvent, auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { NAMESPACES } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { uniqueName } from "./kube.ts";

/** A control plane, and a client whose requests mark places in its audit log. */
export interface Watched {
  readonly plane: ControlPlane;
  readonly kube: KubeClient;
}

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
  const [first, last] = [uniqueName("before"), uniqueName("after")];
  const mark = (name: string) =>
    Promise.all(planes.map(({ kube }) => kube.find(NAMESPACES, { name })));
  await mark(first);
  await run();
  await mark(last);
  return await Promise.all(planes.map(({ plane }) => requestsBetween(plane, first, last)));
}

/** Writes a request as `verb resource`. */
export const requestText = ({ verb, objectRef, requestURI }: AuditEvent): string => {
  const { resource, subresource } = objectRef ?? {};
  return `${verb} ${resource ?? requestURI}${subresource ? `/${subresource}` : ""}`;
};

async function requestsBetween(
  plane: ControlPlane,
  first: string,
  last: string,
): Promise<AuditEvent[]> {
  const isMark = (name: string) => ({ objectRef }: AuditEvent) => objectRef?.name === name;
  const between = await eventually("the audit log is complete", async () => {
    const events = await auditEvents(plane, ({ stage }) => stage === "ResponseComplete");
    const end = events.findIndex(isMark(last));
    return end >= 0 && events.slice(events.findIndex(isMark(first)) + 1, end);
  });
  return between.filter(({ verb, userAgent }) =>
    verb !== "watch" && (userAgent?.startsWith("xbind-konnector/") ?? false)
  );
}

/** Heartbeats, Events and questions about one's own rights do not count. */
const isWrite = ({ verb, objectRef }: AuditEvent): boolean =>
  WRITES.includes(verb) && !["leases", "events"].includes(objectRef?.resource ?? "") &&
  !objectRef?.resource?.startsWith("selfsubject");

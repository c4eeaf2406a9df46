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
  const [first, last] = [uniqueName("before"), uniqueName("after")];
  const mark = (name: string) =>
    Promise.all(planes.map(({ kube }) => kube.find(NAMESPACES, { name })));
  await mark(first);
  await run();
  await mark(last);
  return await Promise.all(planes.map(({ plane }) => writesBetween(plane, first, last)));
}

async function writesBetween(plane: ControlPlane, first: string, last: string): Promise<string[]> {
  const isMark = (name: string) => ({ objectRef }: AuditEvent) => objectRef?.name === name;
  const between = await eventually("the audit log is complete", async () => {
    const events = await auditEvents(plane, ({ stage }) => stage === "ResponseComplete");
    const end = events.findIndex(isMark(last));
    return end >= 0 && events.slice(events.findIndex(isMark(first)) + 1, end);
  });
  return between.filter(isWrite).map(({ verb, objectRef }) =>
    `${verb} ${objectRef?.resource}${objectRef?.subresource ? `/${objectRef.subresource}` : ""}`
  );
}

/** Heartbeats, Events and questions about one's own rights do not count. */
const isWrite = ({ verb, userAgent, objectRef }: AuditEvent): boolean =>
  WRITES.includes(verb) && (userAgent?.startsWith("xbind-konnector/") ?? false) &&
  !["leases", "events"].includes(objectRef?.resource ?? "") &&
  !objectRef?.resource?.startsWith("selfsubject");

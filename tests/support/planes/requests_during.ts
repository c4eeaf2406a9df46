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

/** Returns the requests of a user during `run` from the audit log, without watches. */
export async function requestsDuring(
  plane: ControlPlane,
  { kube, user }: { kube: KubeClient; user: string },
  run: () => Promise<unknown>,
): Promise<AuditEvent[]> {
  const [events = []] = await eventsDuring([{ plane, kube }], run);
  return events.filter(({ verb, user: { username } }) => verb !== "watch" && username === user);
}

/** Returns all requests to each plane that came and were answered during `run`. */
export async function eventsDuring(
  planes: readonly Watched[],
  run: () => Promise<unknown>,
): Promise<AuditEvent[][]> {
  const [first, last] = [uniqueName("before"), uniqueName("after")];
  const mark = (name: string) =>
    Promise.all(planes.map(({ kube }) => kube.find(NAMESPACES, { name })));
  await mark(first);
  await run();
  await mark(last);
  return await Promise.all(planes.map(({ plane }) => eventsBetween(plane, first, last)));
}

async function eventsBetween(
  plane: ControlPlane,
  first: string,
  last: string,
): Promise<AuditEvent[]> {
  const isMark = (name: string) => ({ objectRef }: AuditEvent) => objectRef?.name === name;
  return await eventually("the audit log is complete", async () => {
    const events = await auditEvents(plane, ({ stage }) => stage === "ResponseComplete");
    const end = events.findIndex(isMark(last));
    const begun = events.find(isMark(first))?.requestReceivedTimestamp ?? "";
    // A request from before may be answered, and so logged, after the first mark.
    return end >= 0 &&
      events.slice(0, end).filter((event) => event.requestReceivedTimestamp > begun);
  });
}

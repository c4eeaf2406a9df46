import { type AuditEvent, auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { NAMESPACES } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";

/** Returns the requests of a user during `run` from the audit log, without watches. */
export async function requestsDuring(
  plane: ControlPlane,
  { kube, user }: { kube: KubeClient; user: string },
  run: () => Promise<unknown>,
): Promise<AuditEvent[]> {
  const [first, last] = [`before-${crypto.randomUUID()}`, `after-${crypto.randomUUID()}`];
  await kube.find(NAMESPACES, { name: first });
  await run();
  await kube.find(NAMESPACES, { name: last });
  return await eventually("the audit log is complete", async () => {
    const events = await auditEvents(
      plane,
      ({ stage, verb, user: { username } }) =>
        stage === "ResponseComplete" && verb !== "watch" && username === user,
    );
    const indexOf = (name: string) => events.findIndex(({ objectRef }) => objectRef?.name === name);
    return indexOf(last) >= 0 && events.slice(indexOf(first) + 1, indexOf(last));
  });
}

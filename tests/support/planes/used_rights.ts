import { type AuditEvent, auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { NAMESPACES, type PolicyRule } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";

/** A verb on a resource in a role. */
export interface Right {
  /** The module, `crds` or `leader`. */
  readonly part: string;
  readonly group: string;
  /** The plural, and the subresource after a slash. */
  readonly resource: string;
  readonly verb: string;
  /** The names of the objects, if it does not apply to all. */
  readonly names?: readonly string[];
  /** The namespace, if it does not apply to all. */
  readonly namespace?: string;
}

/** The only role that is limited to one namespace. */
const NAMESPACED = "leader";

/** Lists every right in the roles of a release. */
export const rightsIn = (
  roles: ReadonlyMap<string, readonly PolicyRule[]>,
  namespace: string,
): readonly Right[] =>
  [...roles].flatMap(([part, rules]) =>
    rules.flatMap(({ apiGroups = [], resources = [], verbs, resourceNames: names }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb) => ({
            part,
            group,
            resource,
            verb,
            ...(names && { names }),
            ...(part === NAMESPACED && { namespace }),
          }))
        )
      )
    )
  );

/** A right as text, such as `issuer: delete coordination.k8s.io/leases`. */
export const rightText = ({ part, group, resource, verb }: Right): string =>
  `${part}: ${verb} ${group}/${resource}`;

/** Returns whether a user has a right. */
export async function isHeld(kube: KubeClient, user: string, right: Right): Promise<boolean> {
  const { group, verb, names = [], namespace } = right;
  const [resource, subresource] = right.resource.split("/");
  const apiVersion = "authorization.k8s.io/v1";
  const { status } = await kube.request<{ status: { allowed: boolean } }>(
    "POST",
    `/apis/${apiVersion}/subjectaccessreviews`,
    {
      apiVersion,
      kind: "SubjectAccessReview",
      spec: {
        user,
        resourceAttributes: { group, resource, subresource, verb, namespace, name: names[0] },
      },
    },
  );
  return status.allowed;
}

/** Returns all requests of these users so far, from the audit log. */
export async function requestsBy(
  plane: ControlPlane,
  kube: KubeClient,
  users: readonly string[],
): Promise<AuditEvent[]> {
  const marker = `marker-${crypto.randomUUID()}`;
  await kube.find(NAMESPACES, { name: marker });
  return await eventually("the audit log is complete", async () => {
    const events = await auditEvents(plane);
    return events.some(({ objectRef }) => objectRef?.name === marker) &&
      events.filter(({ user }) => users.includes(user.username));
  });
}

/** Returns whether one of these requests used a right. */
export const isUsed = (right: Right, events: readonly AuditEvent[]): boolean =>
  events.some((event) => {
    const { objectRef: { apiGroup = "", resource, subresource, name = "", namespace } = {} } =
      event;
    return right.group === apiGroup && verbsOf(event).includes(right.verb) &&
      ["*", [resource, subresource].filter(Boolean).join("/")].includes(right.resource) &&
      (!right.names || right.names.includes(name)) &&
      (!right.namespace || right.namespace === namespace);
  });

/** The verbs that a request needed: an apply that creates an object needs two. */
const verbsOf = ({ verb, responseStatus }: AuditEvent): string[] =>
  verb === "patch" && responseStatus?.code === 201 ? ["patch", "create"] : [verb];

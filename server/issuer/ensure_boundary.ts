import {
  isDeleting,
  type Namespace,
  NAMESPACES,
  ROLE_BINDINGS,
  ROLES,
  SERVICE_ACCOUNTS,
} from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isAlreadyExists } from "../../common/kube/kube_error.ts";
import { FIELD_MANAGERS, LABELS } from "../../common/api/names.ts";
import type { IssuerCaches } from "./issued_caches.ts";
import { ProvisioningFault } from "./provisioning_fault.ts";

const { issuer } = FIELD_MANAGERS;

/**
 * Makes the boundary namespace exist, and says whether it can be used. One that is terminating
 * has to go first. One without our label (a konnector may have re-created it) is taken over only
 * when nothing in it could hand rights to somebody.
 */
export async function ensureBoundary(
  kube: KubeClient,
  { boundaries }: Pick<IssuerCaches, "boundaries">,
  wanted: Namespace,
  signal: AbortSignal,
): Promise<"usable" | "terminating"> {
  const { name } = wanted.metadata;
  const cached = boundaries.get({ name });
  if (cached && isDeleting(cached)) return "terminating";
  if (cached && isOfIdentity(cached, wanted) && isManaged(cached, wanted)) return "usable";
  if (!cached) {
    try {
      boundaries.learn(await kube.create(NAMESPACES, wanted, issuer, signal), issuer);
      return "usable";
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  const live = await kube.get(NAMESPACES, { name }, signal);
  if (isDeleting(live)) return "terminating";
  if (!isOfIdentity(live, wanted)) await refuseIfUsed(kube, wanted, signal);
  boundaries.learn(await kube.apply(NAMESPACES, wanted, issuer, signal), issuer);
  return "usable";
}

const hasLabel =
  (label: string) => (present: Pick<Namespace, "metadata">, wanted: Namespace): boolean =>
    present.metadata.labels?.[label] === wanted.metadata.labels?.[label];

const isOfIdentity = hasLabel(LABELS.identity);
const isManaged = hasLabel(LABELS.managed);

async function refuseIfUsed(
  kube: KubeClient,
  { metadata: { name: namespace, labels } }: Namespace,
  signal: AbortSignal,
): Promise<void> {
  const [roles, roleBindings, accounts] = await Promise.all([
    kube.list(ROLES, { namespace }, signal),
    kube.list(ROLE_BINDINGS, { namespace }, signal),
    kube.list(SERVICE_ACCOUNTS, { namespace }, signal),
  ]);
  const foreign = accounts.filter(({ metadata }) => metadata.name !== "default");
  const [first] = [...roles, ...roleBindings, ...foreign];
  if (!first) return;
  throw new ProvisioningFault(
    `Namespace "${namespace}" lacks the label ${LABELS.identity}=${labels?.[LABELS.identity]} ` +
      `and holds ${first.kind} "${first.metadata.name}": empty or remove the namespace, or label ` +
      "it if nobody but xbind made what it holds",
  );
}

import { FIELD_MANAGERS, LABELS } from "../../common/api/names.ts";
import {
  CLUSTER_BINDINGS,
  type ClusterBinding,
  type Connection,
  isDeleting,
  type KubeObject,
} from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isConflict } from "../../common/kube/kube_error.ts";
import type { Log } from "../../common/log/log.ts";
import type { ConsumerCaches } from "../consumer_caches.ts";
import { CREATE_ONLY } from "../sync/applied_object.ts";
import { MOST_APIS, takeApis } from "./offered_apis.ts";

/** What binding works with. */
export interface AutoBindDeps {
  readonly consumer: KubeClient;
  readonly caches: Pick<ConsumerCaches, "clusterBindings">;
  readonly log: Log;
}

/** Why not all exported APIs are bound. */
export interface AutoBindFault {
  readonly reason: "ForeignObjectExists" | "TooManyAPIs";
  readonly message: string;
}

const MANAGER = FIELD_MANAGERS.konnector;

/** Returns whether a Connection made a ClusterBinding, which then goes with it. */
export const isMadeBy = ({ metadata: { uid } }: Connection, binding: KubeObject): boolean =>
  binding.metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === uid) ?? false;

/**
 * Binds all exported APIs by a ClusterBinding that has the name of the Connection and belongs to
 * it. APIs are only ever added: taking one out would delete its objects on the consumer.
 */
export async function autoBind(
  { consumer, caches: { clusterBindings }, log }: AutoBindDeps,
  connection: Connection,
  exported: readonly string[],
  signal: AbortSignal,
): Promise<AutoBindFault | undefined> {
  const { name } = connection.metadata;
  const present = clusterBindings.get({ name });
  if (present && isDeleting(present)) return undefined; // its event brings us back
  if (present && !isMadeBy(connection, present)) {
    const message = `The ClusterBinding ${name} exists, and autoBind did not make it; ` +
      "delete it, or switch autoBind off";
    return { reason: "ForeignObjectExists", message };
  }
  const bound = present?.spec.apis.map((api) => api.name) ?? [];
  const { names, left } = takeApis(exported, bound);
  const isCurrent = names.length === bound.length; // none is ever taken out
  if (!isCurrent) {
    const binding = bindingFor(connection, names, present);
    try {
      clusterBindings.learn(
        await consumer.apply(CLUSTER_BINDINGS, binding, MANAGER, signal),
        MANAGER,
      );
      log.info("bound all exported APIs", { connection: name, apis: names.length });
    } catch (error) {
      // It appeared or went meanwhile: its event brings us back.
      if (!isConflict(error)) throw error;
    }
  }
  if (left === 0) return undefined;
  const message = `The provider exports ${left} APIs more than the ${MOST_APIS} ` +
    "that a ClusterBinding can list; bind those with a ClusterBinding of your own";
  return { reason: "TooManyAPIs", message };
}

function bindingFor(
  { apiVersion, kind, metadata: { name, uid = "" } }: Connection,
  apis: readonly string[],
  present: ClusterBinding | undefined,
): ClusterBinding {
  const owner = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
  return {
    apiVersion,
    kind: "ClusterBinding",
    metadata: {
      name,
      ...(present ? { uid: present.metadata.uid ?? "" } : { resourceVersion: CREATE_ONLY }),
      labels: { [LABELS.managed]: "true" },
      ownerReferences: [owner],
    },
    spec: { connectionRef: { name }, apis: apis.map((each) => ({ name: each })) },
  };
}

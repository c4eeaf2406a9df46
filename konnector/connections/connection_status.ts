import {
  condition,
  type Connection,
  type ConnectionStatus,
  type ExportedApi,
} from "../../common/api/resources.ts";
import { conditionsOf, type Finding, finding } from "../conditions.ts";
import type { Pause } from "../pause.ts";

/** Why something is not as it should be. */
export interface Fault {
  readonly reason: string;
  readonly message: string;
}

/** The reason of `SecretValid` if the token expires soon. */
export const EXPIRES_SOON = "ExpiresSoon";

/** What a reconcile found about a Connection. */
export interface ConnectionView {
  /** Undefined if the Secret can be used. */
  readonly secretFault?: Fault;
  /** Set if the token in the Secret expires soon. */
  readonly expiry?: string | undefined;
  /** Undefined if the provider answers and accepts the credential. */
  readonly linkFault?: Fault;
  /** Set if the provider refuses a right that every API needs. */
  readonly denied?: string;
  /** Set if the provider refuses the heartbeat. Objects are synced all the same. */
  readonly heartbeatDenied?: string | undefined;
  readonly remoteUid?: string;
  readonly localUid: string;
  readonly exportedApis?: readonly ExportedApi[];
  /** Where definitions of APIs are read from. */
  readonly source?: "CRD" | "OpenAPI";
  /** Names of bound APIs that are no longer exported, and still synced. */
  readonly withdrawn?: readonly string[];
  /** Names of bound APIs that the provider does not have any more. */
  readonly deleted?: readonly string[];
  /** Why CRDs here differ from the provider's; undefined while that is not known. */
  readonly schemaFaults?: readonly Fault[] | undefined;
  /** How binding all exported APIs went; undefined if that was not tried. */
  readonly autoBound?: Fault | "done" | undefined;
  /** Why it is paused, so that only its heartbeat goes on. */
  readonly pause?: Pause | undefined;
  /** Bindings that still use a Connection that is being deleted. */
  readonly draining?: readonly string[];
}

/** Builds the status of a Connection. What is not known now stays as it was. */
export function connectionStatus(
  connection: Connection,
  view: ConnectionView,
  now: Date,
): ConnectionStatus {
  const { status: before = {} } = connection;
  const exportedAPIs = view.exportedApis ? [...view.exportedApis] : before.exportedAPIs;
  const remoteClusterUID = before.remoteClusterUID || view.remoteUid;
  return {
    ...(remoteClusterUID ? { remoteClusterUID } : {}),
    localClusterUID: before.localClusterUID || view.localUid,
    ...(view.source ? { activeSchemaSource: view.source } : keepSource(before)),
    ...(exportedAPIs ? { exportedAPIs } : {}),
    conditions: conditionsOf(connection, findingsOf(connection, view), now),
  };
}

const keepSource = ({ activeSchemaSource }: ConnectionStatus) =>
  activeSchemaSource ? { activeSchemaSource } : {};

function findingsOf(connection: Connection, view: ConnectionView): Finding[] {
  const { secretFault, linkFault, denied, heartbeatDenied, draining = [] } = view;
  const refused = denied ?? (heartbeatDenied && `Cannot send heartbeats: ${heartbeatDenied}`);
  const fault = view.pause?.reason === "AnnotationInvalid"
    ? pauseFault(view.pause)
    : draining.length > 0
    ? { reason: "DrainingBindings", message: `Bindings still use it: ${draining.join(", ")}` }
    : view.pause
    ? pauseFault(view.pause)
    : secretFault ?? linkFault ?? (denied ? { reason: "Forbidden", message: denied } : undefined);
  return [
    view.expiry && !secretFault
      ? finding("SecretValid", true, EXPIRES_SOON, view.expiry)
      : judged("SecretValid", secretFault),
    judged("Connected", secretFault ?? linkFault),
    schemaInSync(connection, view),
    finding("PermissionDenied", !!refused, refused ? "Forbidden" : "AsExpected", refused),
    ...autoBound(connection, view),
    judged("Ready", fault),
  ];
}

const pauseFault = ({ reason, annotation, why }: Pause): Fault => ({
  reason,
  message: `The annotation ${annotation} ${why}; its heartbeat goes on, and nothing else is ` +
    "written on either side",
});

const judged = (type: string, fault: Fault | undefined): Finding =>
  fault ? finding(type, false, fault.reason, fault.message) : finding(type, true, "AsExpected");

/** Says whether the CRDs on this cluster are the provider's. */
function schemaInSync(connection: Connection, view: ConnectionView): Finding {
  const { exportedApis, withdrawn = [], deleted = [], schemaFaults = [] } = view;
  const faults = [
    ...notExported(withdrawn, "no longer exports", "their objects are still synced"),
    ...notExported(deleted, "no longer has", "their objects stay here, and are not synced"),
    ...schemaFaults,
  ];
  const [first] = faults;
  const type = "SchemaInSync";
  if (first) {
    return finding(type, false, first.reason, faults.map(({ message }) => message).join(". "));
  }
  if (exportedApis && view.schemaFaults) return finding(type, true, "AsExpected");
  const unknown = finding(type, "Unknown", "Pending");
  return exportedApis ? asBefore(connection, type) ?? unknown : unknown;
}

/** There is no such condition without `autoBind`. */
function autoBound(connection: Connection, { autoBound }: ConnectionView): Finding[] {
  const type = "AutoBound";
  if (connection.spec.autoBind !== true) return [];
  if (autoBound !== undefined) return [judged(type, autoBound === "done" ? undefined : autoBound)];
  return [asBefore(connection, type) ?? finding(type, "Unknown", "Pending")];
}

/** Repeats the last condition, for what is not known now. */
function asBefore(connection: Connection, type: string): Finding | undefined {
  const before = condition(connection, type);
  if (!before) return undefined;
  const { status, reason, message } = before;
  return finding(type, status === "Unknown" ? status : status === "True", reason, message);
}

const notExported = (names: readonly string[], verb: string, effect: string): Fault[] =>
  names.length === 0 ? [] : [{
    reason: "APINotExported",
    message: `The provider ${verb} ${names.join(", ")}; ${effect}`,
  }];

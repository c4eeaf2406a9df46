import type { Connection, ConnectionStatus, ExportedApi } from "../../common/api/resources.ts";
import { conditionsOf, type Finding, finding } from "../conditions.ts";

/** What a reconcile found out about a Connection. */
export interface ConnectionView {
  /** Undefined if the Secret can be used. */
  readonly secretFault?: { readonly reason: string; readonly message: string };
  /** Undefined if the provider answers and accepts the credential. */
  readonly linkFault?: { readonly reason: string; readonly message: string };
  /** Set if the provider refuses a right that every API needs. */
  readonly denied?: string;
  /** Set if the provider refuses the heartbeat. Objects are synced all the same. */
  readonly heartbeatDenied?: string | undefined;
  readonly remoteUid?: string;
  readonly localUid: string;
  readonly exportedApis?: readonly ExportedApi[];
  /** Names of bound APIs that are no longer exported, and still synced. */
  readonly withdrawn?: readonly string[];
  /** Bindings that still use a Connection that is being deleted. */
  readonly draining?: readonly string[];
}

/** Builds the status of a Connection. What is not known at present stays as it was. */
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
    ...(view.exportedApis ? { activeSchemaSource: "CRD" } : keepSource(before)),
    ...(exportedAPIs ? { exportedAPIs } : {}),
    conditions: conditionsOf(connection, findingsOf(view), now),
  };
}

const keepSource = ({ activeSchemaSource }: ConnectionStatus) =>
  activeSchemaSource ? { activeSchemaSource } : {};

function findingsOf(view: ConnectionView): Finding[] {
  const { secretFault, linkFault, denied, heartbeatDenied, draining = [], withdrawn = [] } = view;
  const refused = denied ?? (heartbeatDenied && `Cannot send heartbeats: ${heartbeatDenied}`);
  const fault = draining.length > 0
    ? { reason: "DrainingBindings", message: `Bindings still use it: ${draining.join(", ")}` }
    : secretFault ?? linkFault ?? (denied ? { reason: "Forbidden", message: denied } : undefined);
  const notConnected = secretFault ?? linkFault;
  return [
    secretFault
      ? finding("SecretValid", false, secretFault.reason, secretFault.message)
      : finding("SecretValid", true, "AsExpected"),
    notConnected
      ? finding("Connected", false, notConnected.reason, notConnected.message)
      : finding("Connected", true, "AsExpected"),
    withdrawn.length > 0
      ? finding("SchemaInSync", false, "APINotExported", withdrawnMessage(withdrawn))
      : finding(
        "SchemaInSync",
        view.exportedApis ? true : "Unknown",
        view.exportedApis ? "AsExpected" : "Pending",
      ),
    refused
      ? finding("PermissionDenied", true, "Forbidden", refused)
      : finding("PermissionDenied", false, "AsExpected"),
    fault
      ? finding("Ready", false, fault.reason, fault.message)
      : finding("Ready", true, "AsExpected"),
  ];
}

const withdrawnMessage = (names: readonly string[]): string =>
  `The provider no longer exports ${names.join(", ")}; objects are still synced`;

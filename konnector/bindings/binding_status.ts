import { type BindingStatus, type BoundApi, condition } from "../../common/api/resources.ts";
import type { AnyBinding } from "../any_binding.ts";
import { conditionsOf, type Finding, finding } from "../conditions.ts";
import type { Fault } from "../connections/connection_status.ts";
import type { RelatedView } from "../related/related_view.ts";
import type { Problem } from "../related/related_context.ts";

/** What is known of one bound API. */
export interface BoundApiView {
  readonly name: string;
  /** `AsExpected` while it is synced, else why not. */
  readonly reason: string;
  readonly message: string;
  readonly isDenied: boolean;
  /** The only namespace that is synced, if the credential does not reach others. */
  readonly onlyNamespace?: string | undefined;
  /** Another binding that covers the same objects, and whose conflict policy counts. */
  readonly ruledBy?: string | undefined;
  /** Whether the objects of both sides are known. */
  readonly hasSynced: boolean;
  readonly crdHash?: string | undefined;
  readonly conflicts: number;
  /** How many copies on the provider have no object. */
  readonly leftovers: number;
}

/** What a reconcile found about a binding. */
export interface BindingView {
  /** Why the Connection cannot be used; undefined if it can. */
  readonly connectionFault: Fault | undefined;
  /** Why nothing is written on either side. */
  readonly pause?: Fault | undefined;
  /** An annotation of the binding that is not understood. */
  readonly wrong?: Fault | undefined;
  readonly apis: readonly BoundApiView[];
  readonly related: RelatedView;
  /** What is left to drain, while the binding is being deleted. */
  readonly draining?: Draining | undefined;
}

/** How far an unbind is. */
export interface Draining {
  /** How many objects and related copies are left to release, as far as that is known. */
  readonly left: number;
  /** How many there were at most since the unbind began. */
  readonly total: number;
  /** Whether the number of related copies that are left is unknown. */
  readonly isIncomplete: boolean;
  /** What happens because the provider cannot be reached; undefined if it can. */
  readonly lost?: string | undefined;
}

/** Builds the status of a binding. */
export function bindingStatus(binding: AnyBinding, view: BindingView, now: Date): BindingStatus {
  const boundAPIs: BoundApi[] = view.apis.map(({ name, crdHash, conflicts }) => ({
    name,
    ...(crdHash === undefined ? keptHash(binding, name) : { crdHash }),
    conflictCount: conflicts,
  })).sort((a, b) => a.name < b.name ? -1 : 1);
  return { boundAPIs, conditions: conditionsOf(binding, findingsOf(view), now) };
}

/** Reads from the status of a binding how many objects it held at most since its unbind began. */
export function mostHeld(binding: AnyBinding): number {
  const ready = condition(binding, "Ready");
  if (ready?.reason !== "DrainingObjects") return 0;
  return Number(/^\d+ of (\d+) objects /.exec(ready.message)?.[1] ?? 0);
}

const keptHash = ({ status }: AnyBinding, name: string) => {
  const crdHash = status?.boundAPIs?.find((api) => api.name === name)?.crdHash;
  return crdHash === undefined ? {} : { crdHash };
};

function findingsOf(view: BindingView): Finding[] {
  const { connectionFault, pause, wrong, apis, related, draining } = view;
  const broken = apis.find(({ reason }) => reason !== "AsExpected");
  const pending = apis.find(({ hasSynced }) => !hasSynced);
  const conflicts = apis.filter((api) => api.conflicts > 0);
  const fault = pause
    ? { ...pause, message: `${pause.message}; nothing is written on either side` }
    : draining
    ? { reason: "DrainingObjects", message: drainingMessage(draining) }
    : connectionFault ?? broken ??
      (pending &&
        { reason: "Pending", message: `The objects of ${pending.name} are being read` }) ??
      (related.isPending
        ? { reason: "Pending", message: "The related objects are being read" }
        : undefined);
  return [
    connectionFault
      ? finding("Connected", false, connectionFault.reason, connectionFault.message)
      : finding("Connected", true, "AsExpected"),
    fault
      ? finding("Synced", false, fault.reason, fault.message)
      : wrong
      ? finding("Synced", false, wrong.reason, `${wrong.message}; an unbind would wait`)
      : related.rejected.length > 0
      ? finding("Synced", false, "Rejected", problemMessage(related.rejected))
      : syncedBy(apis),
    conflicts.length + related.conflicts.length > 0
      ? finding("Conflicts", true, "ForeignObjectExists", conflictMessage(conflicts, related))
      : finding("Conflicts", false, "AsExpected"),
    permission(apis, related),
    fault
      ? finding("Ready", false, fault.reason, fault.message)
      : finding("Ready", true, "AsExpected"),
  ];
}

const drainingMessage = ({ left, total, isIncomplete, lost }: Draining): string =>
  [
    `${left} of ${total} objects are left to release`,
    ...(isIncomplete ? ["how many related copies are left is not known yet"] : []),
    ...(lost === undefined ? [] : [lost]),
  ].join("; ");

/** Says so if an API is synced for another binding as well. */
function syncedBy(apis: readonly BoundApiView[]): Finding {
  const ruled = apis.filter(({ ruledBy }) => ruledBy !== undefined)
    .map(({ name, ruledBy }) => `${name} is synced by the ${ruledBy}, whose conflictPolicy counts`);
  const message = [...ruled, leftoversMessage(apis)].filter((part) => part !== "").join("; ");
  return finding("Synced", true, ruled.length > 0 ? "APIBoundElsewhere" : "AsExpected", message);
}

const leftoversMessage = (apis: readonly BoundApiView[]): string =>
  apis.filter(({ leftovers }) => leftovers > 0)
    .map(({ name, leftovers }) => `${name}: ${leftovers} copies on the provider have no object`)
    .join("; ");

const conflictMessage = (apis: readonly BoundApiView[], related: RelatedView): string =>
  [
    ...apis.map(({ name, conflicts }) => `${name}: ${conflicts} in conflict`),
    ...(related.conflicts.length > 0 ? [problemMessage(related.conflicts)] : []),
  ].join("; ");

/** Quotes the first problems, and counts the others. */
function problemMessage(problems: readonly Problem[]): string {
  const more = problems.length - MOST_QUOTED;
  const quoted = problems.slice(0, MOST_QUOTED).map(({ message }) => message).join("; ");
  return more > 0 ? `${quoted}; and ${more} more` : quoted;
}

const MOST_QUOTED = 3;

/** Says so if an API is synced in one namespace only. It is Ready nevertheless. */
function permission(apis: readonly BoundApiView[], { denied }: RelatedView): Finding {
  const refused = apis.find(({ isDenied }) => isDenied)?.message ?? denied;
  if (refused !== undefined) return finding("PermissionDenied", true, "Forbidden", refused);
  const narrow = apis.find(({ onlyNamespace }) => onlyNamespace !== undefined);
  if (!narrow) return finding("PermissionDenied", false, "AsExpected");
  const message = `Only objects in the namespace ${narrow.onlyNamespace} are synced: ` +
    "the credential reaches no other namespace of the provider";
  return finding("PermissionDenied", true, "Forbidden", message);
}

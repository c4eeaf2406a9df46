import type { AnyBinding } from "../any_binding.ts";
import { type RelatedStateDeps, stateOf } from "./reconcile_related.ts";
import type { Problem } from "./related_context.ts";
import { RELATED_KINDS } from "./rules_of.ts";

/** What a binding shows about its related objects. */
export interface RelatedView {
  /** Whether something has not been handled since the start. */
  readonly isPending: boolean;
  /** Why a kind is not copied at all. */
  readonly denied: string | undefined;
  /** Objects whose place is taken. */
  readonly conflicts: readonly Problem[];
  /** Objects that the other cluster refused. */
  readonly rejected: readonly Problem[];
}

/** Collects what is wrong with the related objects of a binding. */
export function relatedView(
  deps: RelatedStateDeps,
  { spec: { connectionRef, relatedResources = [] }, metadata }: AnyBinding,
): RelatedView {
  const { uid = "" } = metadata;
  const states = RELATED_KINDS.filter(({ resource, direction }) =>
    relatedResources.some((rule) => rule.resource === resource && rule.direction === direction)
  ).map((kind) => stateOf(deps, connectionRef.name, kind));
  const problems = states.flatMap((state) => state?.sync?.problems(uid) ?? [])
    .sort((a, b) => a.message < b.message ? -1 : 1);
  return {
    isPending: !deps.related.isStopped(connectionRef.name) &&
      states.some((state) => !state || state.sync?.hasSettled === false),
    denied: states.find((state) => state?.fault)?.fault?.message,
    conflicts: problems.filter(({ reason }) => reason !== "Rejected"),
    rejected: problems.filter(({ reason }) => reason === "Rejected"),
  };
}

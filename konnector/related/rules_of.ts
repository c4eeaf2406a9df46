import { ANNOTATIONS } from "../../common/api/names.ts";
import {
  isDeleting,
  type RelatedResource,
  type RelatedResourceSelector,
} from "../../common/api/resources.ts";
import { type AnyBinding, byAge, isNamespaced } from "../any_binding.ts";
import { isPaused } from "../pause.ts";

/** Which objects are copied, and which way. */
export type RelatedKind = Pick<RelatedResource, "resource" | "direction">;

/** Every kind that there is. */
export const RELATED_KINDS: readonly RelatedKind[] = [
  { resource: "secrets", direction: "FromProvider" },
  { resource: "secrets", direction: "FromConsumer" },
  { resource: "configmaps", direction: "FromProvider" },
  { resource: "configmaps", direction: "FromConsumer" },
];

/** A rule of one binding. */
export interface BoundRule {
  /** UID of the binding. */
  readonly binding: string;
  /** The only namespace of the rule; undefined for all. */
  readonly namespace: string | undefined;
  readonly selector: RelatedResourceSelector;
}

/** What all bindings of a Connection want of one kind. */
export interface RuleSet {
  /** The rules of living bindings, the oldest binding first. */
  readonly rules: readonly BoundRule[];
  /** UIDs of all bindings of the Connection. Copies of other bindings are left alone. */
  readonly bindings: readonly string[];
  /** UIDs of the bindings whose copies stay as they are: paused, or unbound with Orphan. */
  readonly frozen: readonly string[];
}

/** Collects the rules of one kind. */
export function rulesOf(
  connection: string,
  bindings: Iterable<AnyBinding>,
  { resource, direction }: RelatedKind,
): RuleSet {
  const users = [...bindings].filter(({ spec }) => spec.connectionRef.name === connection)
    .sort(byAge);
  const frozen = users.filter((binding) => isFrozen(binding, direction));
  const rules = users.filter((each) => !isDeleting(each) && !frozen.includes(each))
    .flatMap((binding) =>
      (binding.spec.relatedResources ?? [])
        .filter((rule) => rule.resource === resource && rule.direction === direction)
        .map(({ selector = {} }): BoundRule => ({
          binding: uidOf(binding),
          namespace: isNamespaced(binding) ? binding.metadata.namespace : undefined,
          selector,
        }))
    );
  return { rules, bindings: users.map(uidOf), frozen: frozen.map(uidOf) };
}

const uidOf = ({ metadata }: AnyBinding): string => metadata.uid ?? "";

/** The policy Orphan leaves copies on the provider only. */
function isFrozen(binding: AnyBinding, direction: RelatedKind["direction"]): boolean {
  const isOrphaning = isDeleting(binding) && direction === "FromConsumer" &&
    binding.metadata.annotations?.[ANNOTATIONS.deletionPolicy] === "Orphan";
  return isOrphaning || isPaused(binding);
}

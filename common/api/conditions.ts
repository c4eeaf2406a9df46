import { type Condition, condition, type Conditioned } from "./resources.ts";
import { rfc3339 } from "./times.ts";

/** What a condition says, without its time and its generation. */
export type Statement = Pick<Condition, "type" | "status" | "reason" | "message">;

/**
 * Returns the condition that says this about the object's generation. It keeps the time of its last
 * change while its status stays the same.
 */
export function conditionFor(object: Conditioned, statement: Statement, now: Date): Condition {
  const present = condition(object, statement.type);
  const isSameStatus = present?.status === statement.status;
  return {
    ...statement,
    lastTransitionTime: isSameStatus ? present.lastTransitionTime : rfc3339(now.getTime()),
    observedGeneration: object.metadata.generation ?? 0,
  };
}

/** Returns the condition to write, or undefined if the object has it already. */
export function nextCondition(
  object: Conditioned,
  statement: Statement,
  now: Date,
): Condition | undefined {
  const next = conditionFor(object, statement, now);
  return isSameCondition(condition(object, statement.type), next) ? undefined : next;
}

const COMPARED = ["status", "reason", "message", "observedGeneration"] as const;

/** Returns whether two conditions say the same, whenever they began to. */
export const isSameCondition = (a: Condition | undefined, b: Condition | undefined): boolean =>
  COMPARED.every((field) => a?.[field] === b?.[field]);

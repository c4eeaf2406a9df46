import { conditionFor } from "../common/api/conditions.ts";
import {
  type Condition,
  condition,
  type Conditioned,
  type ConditionsStatus,
} from "../common/api/resources.ts";

/** A condition before it is stored. */
export interface Finding {
  readonly type: string;
  readonly status: boolean | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** Makes a finding. */
export const finding = (
  type: string,
  status: Finding["status"],
  reason: string,
  message = "",
): Finding => ({ type, status, reason, message });

const LONGEST_MESSAGE = 1_000;

/** Turns findings into conditions of the object's current generation. */
export function conditionsOf(
  object: Conditioned,
  findings: readonly Finding[],
  now: Date,
): Condition[] {
  return findings.map(({ type, status, reason, message }) => {
    const statement = {
      type,
      status: status === "Unknown" ? "Unknown" : status ? "True" : "False",
      reason,
      message: message.slice(0, LONGEST_MESSAGE),
    } as const;
    return conditionFor(object, statement, now);
  });
}

/**
 * Returns whether a status would say Pending again only because this process has not read
 * everything yet. It is not stored, so that a restart and a second konnector change nothing.
 */
export function isPendingAgain(object: Conditioned, status: ConditionsStatus): boolean {
  const before = condition(object, "Ready");
  const isJudged = before !== undefined && before.reason !== "Pending" &&
    before.observedGeneration === object.metadata.generation;
  return isJudged && condition({ ...object, status }, "Ready")?.reason === "Pending";
}

/** Returns whether two statuses say the same. Both come from JSON, so their order is stable. */
export const isSameStatus = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b);

const canonical = (value: unknown): string =>
  JSON.stringify(
    value ?? {},
    (_, inner: unknown) =>
      inner !== null && typeof inner === "object" && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([x], [y]) => x < y ? -1 : 1))
        : inner,
  );

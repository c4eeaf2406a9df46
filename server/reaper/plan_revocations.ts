import type { Examined } from "./examine.ts";
import { isDoomed } from "./reap_grant.ts";

/** What a sweep does about the Grants that it examined. */
export interface RevocationPlan {
  /** To revoke now, the longest silent first. */
  readonly revoke: readonly Examined[];
  /** All others: they keep their Grant, and are told how they stand. */
  readonly keep: readonly Examined[];
  /** Of these: they would be revoked, but the reaper holds. */
  readonly held: number;
  /** Of these: they are over the part of one sweep. */
  readonly waiting: number;
}

/** Picks whom to revoke: nobody without approval while the reaper holds, and never more than `most`. */
export function planRevocations(
  examined: readonly Examined[],
  { isHolding, most }: { readonly isHolding: boolean; readonly most: number },
): RevocationPlan {
  const keep: Examined[] = [];
  const due: Examined[] = [];
  let held = 0;
  for (const each of examined) {
    if (!isDoomed(each.grant, each.finding)) keep.push(each);
    else if (!isHolding || each.sign?.isApproved) due.push(each);
    else {
      keep.push(each);
      held++;
    }
  }
  due.sort((a, b) => lastSignMs(a) - lastSignMs(b));
  const waiting = due.slice(most);
  return {
    revoke: due.slice(0, most),
    keep: [...keep, ...waiting],
    held,
    waiting: waiting.length,
  };
}

const lastSignMs = ({ sign }: Examined): number => sign?.lastSignMs ?? Infinity;

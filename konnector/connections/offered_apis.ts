import { parseApiName } from "../../common/api/names.ts";
import { groupFault } from "../schema/group_fault.ts";

/** A ClusterBinding lists at most this many APIs, and a Connection pulls as many CRDs. */
export const MOST_APIS = 100;

/** The offered APIs that are taken, sorted by name. */
export interface TakenApis {
  readonly names: readonly string[];
  /** How many there is no room for. */
  readonly left: number;
}

/**
 * Takes at most 100 of the offered APIs. Those in `kept` come first, so that an API with an earlier
 * name never pushes one out that is in use.
 */
export function takeApis(offered: readonly string[], kept: Iterable<string>): TakenApis {
  const keeps = [...kept].sort();
  const others = offered.filter((name) => {
    const parsed = parseApiName(name);
    return parsed && groupFault(parsed.group) === undefined && !keeps.includes(name);
  }).sort();
  const all = [...keeps, ...others];
  return { names: all.slice(0, MOST_APIS).sort(), left: Math.max(0, all.length - MOST_APIS) };
}

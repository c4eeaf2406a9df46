import { sleep } from "../../../common/time/wait.ts";
import type { ApiFault } from "./api_faults.ts";
import type { Arrival } from "./fault_proxy.ts";
import type { FaultWorld } from "../worlds/fault_world.ts";

/** How a backend came through a fault. */
export interface Suffering {
  /** From the end of the fault to full function. */
  readonly recoveredMs: number;
  /** What was wrong with the process meanwhile. */
  readonly complaints: readonly string[];
  /** What it asked of the API server from the beginning of the fault to full function. */
  readonly requests: readonly Arrival[];
  readonly seconds: number;
}

/** Three times what is promised, for a machine that is busy with other things. */
const RECOVERY_MS = 30_000;

/** Lets a fault happen while others are busy, and waits until everything works again. */
export async function suffer(world: FaultWorld, fault: ApiFault): Promise<Suffering> {
  world.proxy.arrivals.length = 0;
  const begunAt = performance.now();
  let endedAt = begunAt;
  const complaints = await world.complaintsDuring(async () => {
    await fault.begin(world);
    const others = Promise.all([world.changeThings(), fault.during?.(world)]);
    await Promise.race([sleep(fault.lastsMs), rejection(others)]);
    await fault.end(world);
    endedAt = performance.now();
    await others;
    await world.recovers({ timeoutMs: RECOVERY_MS + (fault.lingersMs ?? 0) });
  });
  const now = performance.now();
  return {
    recoveredMs: now - endedAt,
    complaints,
    requests: [...world.proxy.arrivals],
    seconds: (now - begunAt) / 1_000,
  };
}

/** Ends only if the promise is rejected. */
const rejection = (promise: Promise<unknown>): Promise<never> =>
  promise.then(() => new Promise<never>(() => {}));

/** Whether a request reads everything of a kind into a cache, instead of going on with a watch. */
export const fillsCache = ({ isWatch, path }: Arrival): boolean =>
  isWatch && path.includes("sendInitialEvents=true");

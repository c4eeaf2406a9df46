import { sleep } from "../../../common/time/wait.ts";
import type { ApiFault } from "./api_faults.ts";
import type { Arrival } from "./fault_proxy.ts";
import type { FaultWorld } from "../worlds/fault_world.ts";

/** The effects of a fault on a backend. */
export interface Suffering {
  /** From the end of the fault until everything works. */
  readonly recoveredMs: number;
  /** Faults of the process meanwhile. */
  readonly complaints: readonly string[];
  /** Its requests from the start of the fault until everything works. */
  readonly requests: readonly Arrival[];
  readonly seconds: number;
}

/** Three times the promised time, because the machine may be busy. */
const RECOVERY_MS = 30_000;

/** Runs a fault while objects change, and waits until everything works again. */
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

/** Rejects if the promise rejects; never resolves. */
const rejection = (promise: Promise<unknown>): Promise<never> =>
  promise.then(() => new Promise<never>(() => {}));

/** Returns whether a request lists a whole kind, instead of resuming a watch. */
export const fillsCache = ({ isWatch, path }: Arrival): boolean =>
  isWatch && path.includes("sendInitialEvents=true");

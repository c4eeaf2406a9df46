import { API_FAULTS, LONG_API_FAULTS } from "../tests/support/faults/api_faults.ts";
import { FaultWorld } from "../tests/support/worlds/fault_world.ts";
import { suffer } from "../tests/support/faults/suffer.ts";
import type { Figure } from "./figure.ts";

const RECOVERY_GOAL_S = 10;
const CRASH_GOAL_S = 15;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Measures the time from the end of each API server fault to full recovery. */
export async function* benchFaults(progress: (text: string) => void): AsyncGenerator<Figure> {
  await using world = await FaultWorld.start();
  for (const fault of [...LONG_API_FAULTS, ...API_FAULTS]) {
    progress(fault.name);
    const { recoveredMs, requests } = await suffer(world, fault);
    const goalMs = RECOVERY_GOAL_S * 1_000 + (fault.lingersMs ?? 0);
    yield {
      name: `all is well after: ${fault.name}`,
      measured: seconds(recoveredMs),
      comparedTo: `${requests.length} requests, fault included`,
      goal: `≤ ${goalMs / 1_000} s`,
      met: recoveredMs <= goalMs,
    };
  }
  progress("the process is killed and started again");
  const others = world.changeThings();
  const startedAt = performance.now();
  await world.crash();
  await others;
  await world.recovers({ timeoutMs: 120_000 });
  const ms = performance.now() - startedAt;
  yield {
    name: "all is well after: the process is killed and started again",
    measured: seconds(ms),
    comparedTo: "its start included",
    goal: `≤ ${CRASH_GOAL_S} s`,
    met: ms <= CRASH_GOAL_S * 1_000,
  };
}

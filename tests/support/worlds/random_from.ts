import { KubeError } from "../../../common/kube/kube_error.ts";

/** Returns numbers from 0 to 1 that only depend on the seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = state + 0x6d2b79f5 >>> 0;
    let mixed = Math.imul(state ^ state >>> 15, state | 1);
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
    return ((mixed ^ mixed >>> 14) >>> 0) / 4_294_967_296;
  };
}

/** Returns the function that chooses one of these by a number from 0 to 1 and their weights. */
export const chooser =
  <T extends readonly [weight: number, ...unknown[]]>(choices: readonly T[]) =>
  (random: number): T => {
    let at = random * choices.reduce((sum, [weight]) => sum + weight, 0);
    return choices.find(([weight]) => (at -= weight) < 0) ?? choices[0] as T;
  };

/** The status of a change that came too late: its object is missing, there, or changed. */
export const lateStatus = (error: unknown): number | undefined =>
  error instanceof KubeError && [404, 409, 422].includes(error.status) ? error.status : undefined;

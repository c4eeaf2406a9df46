/** Values that together identify a state of the sources. */
export type Version = readonly unknown[];

/** The result of a build. */
export interface Built<T> {
  readonly value: T;
  /** After this time the value is wrong even if its sources did not change. */
  readonly validUntilMs?: number;
}

/** The wall clock for times to show, the steady clock to measure with. */
export interface Clocks {
  readonly wallMs: () => number;
  readonly steadyMs: () => number;
}

const SYSTEM_CLOCKS: Clocks = { wallMs: Date.now, steadyMs: () => performance.now() };

const MIN_INTERVAL_MS = 100;
/** No value is older than this, however expensive a build is. */
const MAX_BEHIND_MS = 1_000;
/** Building may take about a fifth of the time. */
const COST_FACTOR = 5;

interface LastBuild<T> extends Built<T> {
  readonly version: Version;
  readonly startedSteadyMs: number;
  readonly startedWallMs: number;
  readonly intervalMs: number;
}

/**
 * Keeps a value until its sources change. While they keep changing it rebuilds the value every
 * 100 ms at most, less often if a build is expensive, and is never more than a second behind.
 */
export class Memo<T> {
  readonly #clocks: Clocks;
  #last: LastBuild<T> | undefined;

  constructor(clocks: Clocks = SYSTEM_CLOCKS) {
    this.#clocks = clocks;
  }

  /** Returns the value for this version of the sources, or a very recent one. */
  get(version: Version, build: (nowMs: number) => Built<T>): T {
    const last = this.#last;
    const startedSteadyMs = this.#clocks.steadyMs();
    const startedWallMs = this.#clocks.wallMs();
    if (last && isCurrent(last, version, startedWallMs)) return last.value;
    if (last && startedSteadyMs - last.startedSteadyMs < last.intervalMs) return last.value;
    const built = build(startedWallMs);
    const costMs = this.#clocks.steadyMs() - startedSteadyMs;
    this.#last = {
      ...built,
      version,
      startedSteadyMs,
      startedWallMs,
      intervalMs: Math.min(MAX_BEHIND_MS, Math.max(MIN_INTERVAL_MS, COST_FACTOR * costMs)),
    };
    return built.value;
  }
}

const isCurrent = (last: LastBuild<unknown>, version: Version, nowMs: number): boolean =>
  nowMs >= last.startedWallMs && // otherwise the clock was set back
  nowMs <= (last.validUntilMs ?? Infinity) &&
  version.length === last.version.length &&
  version.every((part, index) => Object.is(part, last.version[index]));

/** Texts by text. */
export type Texts = ReadonlyMap<string, string>;

/** Returns the earlier map if its content is equal, so that what was built of it can be last. */
export const sameIfEqual = (before: Texts, now: Texts): Texts =>
  areEqual(before, now) ? before : now;

function areEqual(a: Texts, b: Texts): boolean {
  if (a.size !== b.size) return false;
  for (const [key, text] of a) if (b.get(key) !== text) return false;
  return true;
}

/** Values that, taken together, tell one state of the sources from another. */
export type Version = readonly unknown[];

/** What a build gives. */
export interface Built<T> {
  readonly value: T;
  /** When the passing of time alone makes the value wrong; the value holds up to that moment. */
  readonly validUntilMs?: number;
}

/** The wall clock for what is shown, the steady one for how long ago something was. */
export interface Clocks {
  readonly wallMs: () => number;
  readonly steadyMs: () => number;
}

const SYSTEM_CLOCKS: Clocks = { wallMs: Date.now, steadyMs: () => performance.now() };

const MIN_INTERVAL_MS = 100;
/** However expensive a build is, nobody sees anything older than this. */
const MAX_BEHIND_MS = 1_000;
/** Building takes at most a fifth of the time. */
const COST_FACTOR = 5;

interface Kept<T> extends Built<T> {
  readonly version: Version;
  readonly startedSteadyMs: number;
  readonly startedWallMs: number;
  readonly intervalMs: number;
}

/**
 * Keeps a value until its sources change. While they change all the time it is built anew at most
 * every 100 ms, less often when that is expensive, and it is never over a second behind.
 */
export class Memo<T> {
  readonly #clocks: Clocks;
  #kept: Kept<T> | undefined;

  constructor(clocks: Clocks = SYSTEM_CLOCKS) {
    this.#clocks = clocks;
  }

  /** The value for this version of the sources, or a very recent one. */
  get(version: Version, build: (nowMs: number) => Built<T>): T {
    const kept = this.#kept;
    const startedSteadyMs = this.#clocks.steadyMs();
    const startedWallMs = this.#clocks.wallMs();
    if (kept && isCurrent(kept, version, startedWallMs)) return kept.value;
    if (kept && startedSteadyMs - kept.startedSteadyMs < kept.intervalMs) return kept.value;
    const built = build(startedWallMs);
    const costMs = this.#clocks.steadyMs() - startedSteadyMs;
    this.#kept = {
      ...built,
      version,
      startedSteadyMs,
      startedWallMs,
      intervalMs: Math.min(MAX_BEHIND_MS, Math.max(MIN_INTERVAL_MS, COST_FACTOR * costMs)),
    };
    return built.value;
  }
}

const isCurrent = (kept: Kept<unknown>, version: Version, nowMs: number): boolean =>
  nowMs >= kept.startedWallMs && // otherwise the clock was set back
  nowMs <= (kept.validUntilMs ?? Infinity) &&
  version.length === kept.version.length &&
  version.every((part, index) => Object.is(part, kept.version[index]));

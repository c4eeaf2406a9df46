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

interface Kept<T> extends Built<T> {
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
  #kept: Kept<T> | undefined;

  constructor(clocks: Clocks = SYSTEM_CLOCKS) {
    this.#clocks = clocks;
  }

  /** Returns the value for this version of the sources, or a very recent one. */
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

/** Texts by text. */
export type Texts = ReadonlyMap<string, string>;

/** Keeps a map of texts, and returns the same object as long as its content is equal. */
export class TextsMemo {
  readonly #memo: Memo<Texts>;
  #texts: Texts = new Map();

  constructor(clocks?: Clocks) {
    this.#memo = new Memo(clocks);
  }

  /** Returns the map for this version of the sources, or a very recent one. */
  get(version: Version, build: () => Texts): Texts {
    return this.#memo.get(version, () => {
      const built = build();
      if (!areEqual(built, this.#texts)) this.#texts = built;
      return { value: this.#texts };
    });
  }
}

function areEqual(a: Texts, b: Texts): boolean {
  if (a.size !== b.size) return false;
  for (const [key, text] of a) if (b.get(key) !== text) return false;
  return true;
}

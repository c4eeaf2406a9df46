/** What is known of something that is read again and again. */
export interface Polled<T> {
  readonly data: T | undefined;
  /** Why the last reading failed. */
  readonly error: string | undefined;
  /** When `data` was last known to be current. */
  readonly currentAtMs: number | undefined;
}

/** Reads anew; undefined when nothing changed since the version that is known. */
export type Load<T> = (
  known: string | undefined,
  signal: AbortSignal,
) => Promise<{ readonly data: T; readonly etag: string } | undefined>;

/** Where a poller runs: a clock, timers, and whether anybody looks. */
export interface PollerWorld {
  readonly nowMs: () => number;
  readonly isVisible: () => boolean;
  readonly after: (ms: number, run: () => void) => () => void;
}

/** Reads something now and every interval while somebody looks; tells when that changes anything. */
export class Poller<T> {
  readonly #load: Load<T>;
  readonly #everyMs: number;
  readonly #onChange: (polled: Polled<T>) => void;
  readonly #world: PollerWorld;
  #state: Polled<T> = { data: undefined, error: undefined, currentAtMs: undefined };
  #etag: string | undefined;
  #reading: AbortController | undefined;
  #cancelTimer = () => {};

  constructor(
    load: Load<T>,
    everyMs: number,
    onChange: (polled: Polled<T>) => void,
    world: PollerWorld,
  ) {
    this.#load = load;
    this.#everyMs = everyMs;
    this.#onChange = onChange;
    this.#world = world;
  }

  /** Reads now, in place of a reading that is under way. */
  async refresh(): Promise<void> {
    this.stop();
    const reading = this.#reading = new AbortController();
    try {
      const fresh = await this.#load(this.#etag, reading.signal);
      if (reading.signal.aborted) return;
      if (fresh) this.#etag = fresh.etag;
      this.#tell({ data: fresh?.data ?? this.#state.data, error: undefined });
    } catch (error) {
      if (reading.signal.aborted) return;
      this.#tell({ data: this.#state.data, error: messageOf(error) });
    }
    this.#reading = undefined;
    this.#cancelTimer = this.#world.after(this.#everyMs, () => this.look());
  }

  /** Somebody came back, or an interval is over: reads if it is time and anybody looks. */
  look(): void {
    if (!this.#world.isVisible() || this.#reading) return;
    const { currentAtMs, error } = this.#state;
    const isDue = error !== undefined || currentAtMs === undefined ||
      this.#world.nowMs() - currentAtMs >= this.#everyMs;
    if (isDue) void this.refresh();
  }

  /** Ends the reading and the timer; `refresh` starts again. */
  stop(): void {
    this.#cancelTimer();
    this.#reading?.abort();
    this.#reading = undefined;
  }

  /** An unchanged answer is no news: nothing needs to be drawn again. */
  #tell({ data, error }: Pick<Polled<T>, "data" | "error">): void {
    const isNews = data !== this.#state.data || error !== this.#state.error;
    const currentAtMs = error === undefined ? this.#world.nowMs() : this.#state.currentAtMs;
    this.#state = { data, error, currentAtMs };
    if (isNews) this.#onChange(this.#state);
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

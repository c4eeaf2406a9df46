/** Holds the latest result of polling. */
export interface Polled<T> {
  readonly data: T | undefined;
  /** Says why the last read failed. */
  readonly error: string | undefined;
  /** Is the time when `data` was last known to be current. */
  readonly currentAtMs: number | undefined;
}

/** Reads the data; returns undefined if it has not changed since the known version. */
export type Load<T> = (
  known: string | undefined,
  signal: AbortSignal,
) => Promise<{ readonly data: T; readonly etag: string } | undefined>;

/** Provides a poller with a clock, timers, and the visibility of the page. */
export interface PollerWorld {
  readonly nowMs: () => number;
  readonly isVisible: () => boolean;
  readonly after: (ms: number, run: () => void) => () => void;
}

/** Reads data now and at every interval while the page is visible, and reports changes. */
export class Poller<T> {
  readonly #load: Load<T>;
  readonly #everyMs: number;
  readonly #onChange: (polled: Polled<T>) => void;
  readonly #world: PollerWorld;
  #state: Polled<T> = { data: undefined, error: undefined, currentAtMs: undefined };
  #etag: string | undefined;
  #reading: AbortController | undefined;
  #isDue = true;
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

  /** Reads now, and aborts a running read. */
  async refresh(): Promise<void> {
    this.stop();
    this.#isDue = false;
    const reading = this.#reading = new AbortController();
    try {
      const fresh = await this.#load(this.#etag, reading.signal);
      if (reading.signal.aborted) return;
      if (fresh) this.#etag = fresh.etag;
      this.#tell({ data: fresh?.data ?? this.#state.data, error: undefined });
    } catch (error) {
      if (reading.signal.aborted) return;
      this.#isDue = true;
      this.#tell({ data: this.#state.data, error: messageOf(error) });
    }
    this.#reading = undefined;
    // The timer counts the interval. The gateway's time may jump when either clock is corrected.
    this.#cancelTimer = this.#world.after(this.#everyMs, () => {
      this.#isDue = true;
      this.look();
    });
  }

  /** Reads if the page is visible, and the interval is over or the last read failed. */
  look(): void {
    if (this.#isDue && this.#world.isVisible() && !this.#reading) void this.refresh();
  }

  /** Stops the running read and the timer; `refresh` starts again. */
  stop(): void {
    this.#cancelTimer();
    this.#reading?.abort();
    this.#reading = undefined;
  }

  /** Stores the state, and reports it unless data and error are unchanged. */
  #tell({ data, error }: Pick<Polled<T>, "data" | "error">): void {
    const isNews = data !== this.#state.data || error !== this.#state.error;
    const currentAtMs = error === undefined ? this.#world.nowMs() : this.#state.currentAtMs;
    this.#state = { data, error, currentAtMs };
    if (isNews) this.#onChange(this.#state);
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

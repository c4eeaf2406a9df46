/** Sends a request; `nth` counts the requests before it. */
export type FloodRequest = (nth: number) => Promise<Response>;

/** Repeats a request, this many at once, until it is disposed. */
export class Flood implements AsyncDisposable {
  /** How often each status was answered; 0 means no answer. */
  readonly statuses = new Map<number, number>();
  readonly #workers: Promise<void[]>;
  #sent = 0;
  #isOver = false;

  constructor(atOnce: number, send: FloodRequest) {
    this.#workers = Promise.all(Array.from({ length: atOnce }, () => this.#work(send)));
  }

  /** How many requests have ended. */
  get answered(): number {
    return [...this.statuses.values()].reduce((sum, count) => sum + count, 0);
  }

  async #work(send: FloodRequest): Promise<void> {
    while (!this.#isOver) {
      const status = await send(this.#sent++).then(
        async (answer) => {
          await answer.body?.cancel();
          return answer.status;
        },
        () => 0,
      );
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#workers;
  }
}

/** A server that accepts connections and never answers. */
export class BlackHole implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #taken: Deno.Conn[] = [];
  readonly #accepting: Promise<void>;

  constructor() {
    this.#accepting = (async () => {
      for await (const connection of this.#listener) this.#taken.push(connection);
    })();
  }

  get url(): string {
    return `https://127.0.0.1:${this.#listener.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#taken) connection.close();
    await this.#accepting;
  }
}

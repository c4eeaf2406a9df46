const AT_ONCE = 100;

/** Open connections that have sent a text and do not read the answer. */
export class HeldConnections implements AsyncDisposable {
  readonly #connections: Deno.TcpConn[];

  private constructor(connections: Deno.TcpConn[]) {
    this.#connections = connections;
  }

  /** Opens connections to a server, and sends the same text on each. */
  static async open(url: string, count: number, said: string): Promise<HeldConnections> {
    const { hostname, port } = new URL(url);
    const octets = new TextEncoder().encode(said);
    const connections: Deno.TcpConn[] = [];
    while (connections.length < count) {
      const size = Math.min(AT_ONCE, count - connections.length);
      connections.push(
        ...await Promise.all(Array.from({ length: size }, async () => {
          const connection = await Deno.connect({ hostname, port: Number(port) });
          await connection.write(octets).catch(() => {}); // the server may have closed it
          return connection;
        })),
      );
    }
    return new HeldConnections(connections);
  }

  /** Waits until the server has closed all of them. */
  async closedByServer(): Promise<void> {
    await Promise.all(this.#connections.map(async (connection) => {
      const buffer = new Uint8Array(64 * 1024);
      try {
        while (await connection.read(buffer) !== null);
      } catch {
        // A reset closes the connection, too.
      }
    }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) connection.close();
    return Promise.resolve();
  }
}

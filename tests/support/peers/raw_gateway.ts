import net from "node:net";

/** Handles a connection as a hostile or broken gateway does. */
export type Behaviour = (socket: net.Socket, request: string) => void;

/** A server whose raw answers a test controls. */
export interface RawGateway extends AsyncDisposable {
  readonly url: string;
  /** The head and body of every request. */
  readonly requests: string[];
  behave: Behaviour;
}

/** Sends an answer with these parts, and closes the connection. */
export const answer = (
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Behaviour =>
(socket) => {
  const bytes = new TextEncoder().encode(body);
  const lines = [
    `HTTP/1.1 ${status} Told`,
    `Content-Length: ${bytes.length}`,
    "Connection: close",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  socket.end(bytes);
};

/** Sends a JSON answer. */
export const jsonAnswer = (
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Behaviour =>
  answer(status, JSON.stringify(body), { "Content-Type": "application/json", ...headers });

/** Starts a server whose `behave` can be changed at any time. */
export async function startRawGateway(behave: Behaviour): Promise<RawGateway> {
  const sockets = new Set<net.Socket>();
  const requests: string[] = [];
  const server = net.createServer((socket) => {
    sockets.add(socket);
    let request = "";
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.on("data", (part: Uint8Array) => {
      request += new TextDecoder().decode(part);
      const end = request.indexOf("\r\n\r\n");
      const length = Number(/^content-length: (\d+)/im.exec(request)?.[1] ?? 0);
      if (end < 0 || request.length < end + 4 + length) return;
      requests.push(request);
      gateway.behave(socket, request);
      request = "";
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const gateway: RawGateway = {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    requests,
    behave,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return gateway;
}

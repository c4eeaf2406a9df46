import { Buffer } from "node:buffer";
import http from "node:http";
import net from "node:net";
import type { Duplex } from "node:stream";

/** A proxy on a loopback port for one test. */
export interface ProxyServer extends AsyncDisposable {
  /** The address, such as `127.0.0.1:34567`. */
  readonly address: string;
  /** The `host:port` of every requested tunnel. */
  readonly asked: string[];
  /** Resets every connection. */
  cut(): void;
}

/** The required user and password. Without them, everyone may connect. */
export interface ProxyAccount {
  readonly username: string;
  readonly password: string;
}

/** Starts an HTTP proxy for CONNECT. With `leadTo`, every tunnel leads to that `host:port`. */
export async function startConnectProxy(
  account?: ProxyAccount,
  leadTo?: string,
): Promise<ProxyServer> {
  const asked: string[] = [];
  const expected = account &&
    `Basic ${Buffer.from(`${account.username}:${account.password}`).toString("base64")}`;
  const server = http.createServer();
  server.on("connect", (request, client: Duplex) => {
    asked.push(request.url ?? "");
    if (expected !== undefined && request.headers["proxy-authorization"] !== expected) {
      return void client.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    }
    const target = leadTo ?? request.url ?? "";
    tunnel(client, target, () => client.write("HTTP/1.1 200 OK\r\nVia: test\r\n\r\n"));
  });
  return await listening(server, asked);
}

/** Starts a SOCKS5 proxy (RFC 1928) with user names and passwords (RFC 1929). */
export async function startSocksServer(account?: ProxyAccount): Promise<ProxyServer> {
  const asked: string[] = [];
  const server = net.createServer((client) => {
    client.on("error", () => client.destroy());
    serveSocks(client, asked, account).catch(() => client.destroy());
  });
  return await listening(server, asked);
}

/** Starts a server that accepts connections and never answers. */
export async function startSilentServer(): Promise<ProxyServer> {
  return await listening(net.createServer((client) => client.on("error", () => {})), []);
}

async function serveSocks(client: net.Socket, asked: string[], account?: ProxyAccount) {
  const method = account ? 2 : 0;
  const read = reader(client);
  const [, methodCount = 0] = await read(2);
  const offered = await read(methodCount);
  client.write(Buffer.from([5, offered.includes(method) ? method : 0xff]));
  if (!offered.includes(method)) return void client.end();
  if (account) {
    const [, nameLength = 0] = await read(2);
    const username = (await read(nameLength)).toString();
    const [passwordLength = 0] = await read(1);
    const password = (await read(passwordLength)).toString();
    const isRight = username === account.username && password === account.password;
    client.write(Buffer.from([1, isRight ? 0 : 1]));
    if (!isRight) return void client.end();
  }
  const [, , , addressType] = await read(4);
  const [hostLength = 0] = addressType === 3 ? await read(1) : [4];
  const host = addressType === 3
    ? (await read(hostLength)).toString()
    : [...await read(4)].join(".");
  const port = (await read(2)).readUInt16BE();
  asked.push(`${host}:${port}`);
  tunnel(
    client,
    `${host}:${port}`,
    () => client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])),
  );
}

/** Reads this many bytes, and leaves the rest in the stream. */
function reader(stream: net.Socket): (length: number) => Promise<Buffer> {
  return async (length) => {
    if (length === 0) return Buffer.alloc(0);
    while (true) {
      const bytes: Buffer | null = stream.read(length);
      if (bytes) return bytes;
      if (stream.destroyed || stream.readableEnded) throw new Error("the client disconnected");
      await new Promise<void>((resolve) => {
        for (const event of ["readable", "end", "close"]) stream.once(event, () => resolve());
      });
    }
  };
}

function tunnel(client: Duplex, address: string, onOpen: () => void): void {
  const url = new URL(`tcp://${address}`);
  const upstream = net.connect(Number(url.port), url.hostname, () => {
    onOpen();
    upstream.pipe(client);
    client.pipe(upstream);
  });
  const close = () => {
    upstream.destroy();
    client.destroy();
  };
  for (const end of [upstream, client]) end.on("error", close).on("close", close);
}

async function listening(
  server: net.Server | http.Server,
  asked: string[],
): Promise<ProxyServer> {
  const sockets = new Set<net.Socket>();
  server.on("connection", (socket: net.Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return {
    address: `127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    asked,
    cut: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

import { Buffer } from "node:buffer";
import net from "node:net";
import type { Duplex } from "node:stream";
import { inPlainWords } from "./exchange.ts";
import { startTls } from "./start_tls.ts";
import { whenReady } from "./when_ready.ts";

/** Shorter than the deadline of any call, so that the error names the proxy. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Opens a connection to `host:port` through an `http`, `https` or `socks5` proxy. */
export async function connectThroughProxy(
  proxyUrl: URL,
  host: string,
  port: number,
): Promise<Duplex> {
  const socket = await dial(proxyUrl);
  try {
    if (proxyUrl.protocol.startsWith("socks5")) await greetSocks(socket, proxyUrl, host, port);
    else await requestTunnel(socket, proxyUrl, host, port);
    socket.setTimeout(0);
    return socket;
  } catch (cause) {
    socket.destroy();
    throw new Error(`the proxy ${proxyUrl.host} refused: ${(cause as Error).message}`, { cause });
  }
}

const DEFAULT_PORTS: Record<string, number> = {
  "http:": 80,
  "https:": 443,
  "socks5:": 1080,
  "socks5h:": 1080,
};

async function dial(proxyUrl: URL): Promise<net.Socket> {
  const defaultPort = DEFAULT_PORTS[proxyUrl.protocol];
  if (defaultPort === undefined) {
    throw new Error(`the proxy scheme "${proxyUrl.protocol}" is none of http, https, socks5`);
  }
  const host = proxyUrl.hostname.replace(/^\[|\]$/g, "");
  const port = Number(proxyUrl.port) || defaultPort;
  const socket = impatient(net.connect({ host, port }));
  const { signal } = new AbortController(); // the caller has a deadline of its own
  try {
    await whenReady(socket, "connect", signal);
    if (proxyUrl.protocol !== "https:") return socket;
    const secured = await startTls(socket, { serverName: host }, signal);
    socket.setTimeout(0); // the TLS socket has its own time-out
    return impatient(secured);
  } catch (cause) {
    const reason = inPlainWords(cause as Error);
    throw new Error(`the proxy ${proxyUrl.host} cannot be reached: ${reason}`, { cause });
  }
}

/** Closes a silent socket after a while, until `setTimeout(0)`. */
const impatient = (socket: net.Socket): net.Socket =>
  socket.setTimeout(HANDSHAKE_TIMEOUT_MS, () => {
    socket.destroy(new Error(`no answer within ${HANDSHAKE_TIMEOUT_MS / 1000} s`));
  });

async function requestTunnel(
  socket: net.Socket,
  proxyUrl: URL,
  host: string,
  port: number,
): Promise<void> {
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (proxyUrl.username) {
    const { username, password } = userInfo(proxyUrl);
    const pair = Buffer.from(`${username}:${password}`).toString("base64");
    lines.push(`Proxy-Authorization: Basic ${pair}`);
  }
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const head = await readUntil(socket, (bytes) => {
    const end = bytes.indexOf("\r\n\r\n");
    return end < 0 ? undefined : end + 4;
  });
  const statusLine = head.toString("latin1").split("\r\n")[0] ?? "";
  if (!/^HTTP\/1\.[01] 2\d\d\b/.test(statusLine)) throw new Error(`"${statusLine}"`);
}

async function greetSocks(
  socket: net.Socket,
  proxyUrl: URL,
  host: string,
  port: number,
): Promise<void> {
  const method = proxyUrl.username ? 2 : 0;
  socket.write(Buffer.from([5, 1, method]));
  const greeting = await readUntil(socket, () => 2);
  if (greeting[0] !== 5 || greeting[1] !== method) throw new Error("no common authentication");
  if (method === 2) {
    const { username, password } = userInfo(proxyUrl);
    socket.write(Buffer.concat([Buffer.from([1]), sized(username), sized(password)]));
    const reply = await readUntil(socket, () => 2);
    if (reply[1] !== 0) throw new Error("wrong user name or password");
  }
  // The proxy resolves the name: it may know hosts that this machine does not.
  socket.write(Buffer.concat([
    Buffer.from([5, 1, 0, 3]),
    sized(host),
    Buffer.from([port >> 8, port & 255]),
  ]));
  const reply = await readUntil(socket, (bytes) => {
    const addressLength = { 1: 4, 3: (bytes[4] ?? 0) + 1, 4: 16 }[bytes[3] ?? 0];
    return bytes.length < 5 ? undefined : 4 + (addressLength ?? 4) + 2;
  });
  if (reply[1] !== 0) throw new Error(`SOCKS error ${reply[1]}`);
}

function userInfo(url: URL): { username: string; password: string } {
  return { username: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
}

function sized(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length > 255) throw new Error("a name or password is longer than 255 bytes");
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** Reads a message whose length is known as it arrives. Leaves later bytes in the socket. */
function readUntil(
  socket: net.Socket,
  lengthOf: (bytes: Buffer) => number | undefined,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const onData = (part: Buffer) => {
      bytes = Buffer.concat([bytes, part]);
      const length = lengthOf(bytes);
      if (length === undefined ? bytes.length < 16_384 : bytes.length < length) return;
      finish();
      if (length === undefined) return reject(new Error("the answer is too long"));
      if (bytes.length > length) socket.unshift(bytes.subarray(length));
      resolve(bytes.subarray(0, length));
    };
    const onError = (cause: Error) => {
      finish();
      reject(new Error(inPlainWords(cause), { cause }));
    };
    const onClose = () => onError(new Error("the connection broke off"));
    const finish = () => {
      socket.off("data", onData);
      socket.off("error", onError);
      socket.off("close", onClose);
      socket.pause();
    };
    socket.on("data", onData);
    socket.on("error", onError);
    socket.on("close", onClose);
    socket.resume();
  });
}

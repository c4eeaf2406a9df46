import { say } from "../scripts/say.ts";
import { percentile } from "./figure.ts";

/** The options of a load. */
export interface Load {
  readonly token?: string;
  /** The tokens of several callers, who take turns; replaces `token`. */
  readonly tokens?: readonly string[];
  readonly inFlight: number;
  readonly seconds: number;
  readonly encoding?: "gzip" | "identity";
  /** The If-None-Match header. The answers must then be 304. */
  readonly etag?: string;
}

/** The report of the load generator. */
export interface LoadResult {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** The size of one body, as sent. */
  readonly bytes: number;
}

const BUFFER_BYTES = 512 * 1024;

/** Puts load on a URL from a separate process, which runs this file. */
export async function load(url: string, load: Load): Promise<LoadResult> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", programOf("load.ts"), url, JSON.stringify(load)],
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the load generator failed");
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** A server in its own process. */
export interface Server extends AsyncDisposable {
  readonly url: string;
}

/** Starts a server program of this folder, which prints its URL. */
export async function serve(program: string, ...args: string[]): Promise<Server> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", programOf(program), ...args],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  return {
    url: new TextDecoder().decode(value).trim(),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await reader.cancel();
      await child.status;
    },
  };
}

const programOf = (name: string): string => new URL(name, import.meta.url).pathname;

/** Sends one request, reads its whole answer, and returns the size of the body. */
async function roundTrip(
  connection: Deno.TcpConn,
  request: Uint8Array,
  status: number,
  buffer: Uint8Array,
): Promise<number> {
  await connection.write(request);
  let head = "";
  let bodyRead = 0;
  let length = -1;
  while (length < 0 || bodyRead < length) {
    const read = await connection.read(buffer);
    if (read === null) throw new Error("the server closed the connection");
    if (length >= 0) {
      bodyRead += read;
      continue;
    }
    head += new TextDecoder("latin1").decode(buffer.subarray(0, read));
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) continue;
    if (!head.startsWith(`HTTP/1.1 ${status}`)) throw new Error(head.slice(0, 100));
    if (status === 304) return 0;
    length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? NaN);
    if (Number.isNaN(length)) throw new Error("the answer has no length");
    bodyRead = head.length - end - 4;
  }
  return length;
}

/**
 * Requests one URL over keep-alive connections as fast as it can. It does not parse bodies, so that
 * only the server is measured.
 */
async function measure(target: string, load: Load): Promise<LoadResult> {
  const { token, tokens = [token], inFlight, seconds, encoding = "gzip", etag } = load;
  const { hostname, port, pathname } = new URL(target);
  const requestOf = (caller: string | undefined) => {
    const headers = {
      Host: `${hostname}:${port}`,
      "Accept-Encoding": encoding,
      ...(caller === undefined ? {} : { Authorization: `Bearer ${caller}` }),
      ...(etag === undefined ? {} : { "If-None-Match": etag }),
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return new TextEncoder().encode(`GET ${pathname} HTTP/1.1\r\n${lines.join("")}\r\n`);
  };
  const requests = tokens.map(requestOf);
  let turn = 0;
  const times: number[] = [];
  let bytes = 0;
  const start = performance.now();
  const end = start + seconds * 1000;
  await Promise.all(Array.from({ length: inFlight }, async () => {
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const buffer = new Uint8Array(BUFFER_BYTES);
    while (performance.now() < end) {
      const sent = performance.now();
      const request = requests[turn++ % requests.length] ?? requestOf(undefined);
      bytes = await roundTrip(connection, request, etag === undefined ? 200 : 304, buffer);
      times.push(performance.now() - sent);
    }
  }));
  return {
    perSecond: times.length / (performance.now() - start) * 1000,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    bytes,
  };
}

if (import.meta.main) {
  const [target = "", load = "{}"] = Deno.args;
  say(JSON.stringify(await measure(target, JSON.parse(load))));
}

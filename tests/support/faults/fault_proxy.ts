import { Buffer } from "node:buffer";
import type http from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { stringify } from "yaml";
import {
  type Certificate,
  createAuthority,
  issueServerCertificate,
} from "../../../scripts/controlplane/certificates.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import {
  byLines,
  endToEnd,
  type Exchange,
  isWatch,
  wholeBody,
  wholeReply,
} from "../peers/http_relay.ts";
import { type Forward, ProxiedWatches } from "./proxied_watches.ts";

/** The fault of one request. */
export type Fault =
  /** The proxy answers, and does not forward the request. */
  | {
    readonly kind: "status";
    readonly code: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  }
  /** The proxy forwards the request after a delay. */
  | { readonly kind: "delay"; readonly ms: number }
  /** The proxy forwards the request with another body. */
  | { readonly kind: "body"; readonly change: (text: string) => string }
  /** The proxy breaks the connection, and does not forward the request. */
  | { readonly kind: "resetBefore" }
  /** The proxy forwards the request, and breaks the connection instead of answering. */
  | { readonly kind: "resetAfter" }
  /** The proxy never answers; with `afterHead` it forwards only the head of the answer. */
  | { readonly kind: "stall"; readonly afterHead?: boolean }
  /** The proxy replaces each line of the answer by the lines that `pass` returns. */
  | { readonly kind: "lines"; readonly pass: (line: string) => string[] }
  /** The proxy forwards the answer line by line, each after a pause. */
  | { readonly kind: "slow"; readonly pauseMs: number }
  /**
   * The proxy forwards the request when `pass` calls `forward`, which resolves with the status, or
   * 0 without an answer. If `pass` returns true, the proxy answers; else it breaks the connection.
   */
  | {
    readonly kind: "gate";
    readonly pass: (forward: () => Promise<number>, body: string) => Promise<boolean>;
  };

/** A request as it arrived at the proxy. */
export interface Arrival {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly isWatch: boolean;
  /** How often this method and path have arrived so far, without regard to the query. */
  readonly count: number;
  readonly atMs: number;
}

/** The identities of a fault proxy. */
export interface FaultProxyOptions {
  /** The user at the API server: the admin by default, or the user of the caller's token. */
  readonly identity?: Certificate | "caller";
  /** The names in its server certificate. */
  readonly serverNames?: [string, ...string[]];
}

/** How long an API server keeps an idle connection open. */
const KEEP_ALIVE_MS = 90_000;

/** A TLS proxy in front of a real API server that can break requests. */
export class FaultProxy implements AsyncDisposable {
  /** Chooses the fault of a request; none by default. */
  faults: (request: Arrival) => Fault | undefined = () => undefined;
  /** How far the time in the `Date` header of answers is from the real one. */
  dateShiftMs = 0;
  /** All requests in order; tests may empty it. */
  readonly arrivals: Arrival[] = [];
  readonly watches = new ProxiedWatches();
  readonly #counts = new Map<string, number>();
  readonly #server: https.Server;
  readonly #upstream: { base: URL; agent: https.Agent };
  readonly #authority: Certificate;
  readonly #certificate: Certificate;
  readonly #dir: string;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #connections = 0;
  #mostConnections = 0;

  private constructor(
    plane: ControlPlane,
    dir: string,
    identity: Certificate | "caller",
    { authority, certificate }: Record<"authority" | "certificate", Certificate>,
  ) {
    this.#dir = dir;
    this.#authority = authority;
    this.#certificate = certificate;
    this.#upstream = {
      base: new URL(plane.server),
      agent: new https.Agent({
        keepAlive: false, // on a reused connection, the runtime itself may retry
        ca: plane.caPem,
        ...(identity === "caller" ? {} : identity),
      }),
    };
    this.#server = https.createServer(
      certificate,
      (request, answer) => void this.#handle({ request, answer }),
    );
    this.#server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.#server.on("secureConnection", (socket) => this.#count(socket));
  }

  /** Starts a proxy in front of the plane's API server, on a loopback port. */
  static async start(plane: ControlPlane, options: FaultProxyOptions = {}): Promise<FaultProxy> {
    const { serverNames = ["127.0.0.1", "localhost"] } = options;
    const identity = options.identity ?? await plane.userCertificate("admin", ["system:masters"]);
    const authority = await createAuthority("xbind fault proxy");
    const certificate = await issueServerCertificate(authority, serverNames);
    const dir = await Deno.makeTempDir({ dir: plane.dir, prefix: "fault-proxy-" });
    const proxy = new FaultProxy(plane, dir, identity, { authority, certificate });
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  /** Such as `https://127.0.0.1:34567`. */
  get server(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The authority of its server certificate. */
  get caPem(): string {
    return this.#authority.cert;
  }

  /** How many connections were made in total. */
  get connections(): number {
    return this.#connections;
  }

  /** How many connections are open now. */
  get openConnections(): number {
    return this.#sockets.size;
  }

  /** The highest number of connections open at once. */
  get mostConnections(): number {
    return this.#mostConnections;
  }

  /** Writes a kubeconfig for this proxy, with these user and cluster fields; returns its path. */
  async kubeconfig(user: object = {}, cluster: object = {}): Promise<string> {
    const path = join(this.#dir, `${crypto.randomUUID()}.kubeconfig`);
    const ca = { "certificate-authority-data": btoa(this.caPem) };
    const text = stringify({
      "current-context": "proxy",
      clusters: [{ name: "proxy", cluster: { server: this.server, ...ca, ...cluster } }],
      users: [{ name: "proxy", user }],
      contexts: [{ name: "proxy", context: { cluster: "proxy", user: "proxy" } }],
    });
    await Deno.writeTextFile(path, text, { mode: 0o600 });
    return path;
  }

  /** Breaks every connection. */
  cutConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Presents a certificate of an authority that nobody knows, or its own one again. */
  async disguise(isDisguised: boolean): Promise<void> {
    const other = () => createAuthority("xbind impostor");
    const { cert, key } = isDisguised
      ? await issueServerCertificate(await other(), ["127.0.0.1", "localhost"])
      : this.#certificate;
    this.#server.setSecureContext({ cert, key });
    this.cutConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.cutConnections();
    this.#upstream.agent.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await Deno.remove(this.#dir, { recursive: true });
  }

  #count(socket: Socket): void {
    this.#connections++;
    this.#sockets.add(socket);
    this.#mostConnections = Math.max(this.#mostConnections, this.#sockets.size);
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("error", () => {}); // connections break on purpose
  }

  async #handle(exchange: Exchange): Promise<void> {
    const { request, answer } = exchange;
    const fault = this.faults(this.#record(request));
    const body = await wholeBody(request);
    switch (fault?.kind) {
      case "status":
        return void answer.writeHead(fault.code, fault.headers).end(fault.body ?? "");
      case "resetBefore":
        return void request.socket.destroy();
      case "body":
        return this.#forward(exchange, Buffer.from(fault.change(body.toString())), undefined);
      case "delay":
        return this.#later(fault.ms, () => this.#forward(exchange, body, undefined));
      case "stall":
        return fault.afterHead ? this.#forward(exchange, body, fault) : undefined;
      case "gate":
        return await this.#throughGate(exchange, body, fault.pass);
      default:
        this.#forward(exchange, body, fault);
    }
  }

  #record({ method = "", url = "" }: http.IncomingMessage): Arrival {
    const { pathname } = new URL(url, "https://proxy");
    const key = `${method} ${pathname}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    const arrival = {
      method,
      path: url,
      isWatch: isWatch({ url }),
      count,
      atMs: performance.now(),
    };
    this.arrivals.push(arrival);
    return arrival;
  }

  #later(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }

  async #throughGate(
    exchange: Exchange,
    body: Buffer,
    pass: Extract<Fault, { kind: "gate" }>["pass"],
  ): Promise<void> {
    const broken = (): void => void exchange.request.socket.destroy();
    let handOn = broken;
    const isHandedOn = await pass(async () => {
      const reply = await new Promise<http.IncomingMessage | undefined>((resolve) => {
        const upstream = this.#send(exchange.request, body);
        upstream.on("response", resolve).on("error", () => resolve(undefined));
      });
      if (reply) handOn = await wholeReply(exchange, reply);
      return reply?.statusCode ?? 0;
    }, body.toString());
    if (isHandedOn) handOn();
    else broken();
  }

  #send(request: http.IncomingMessage, body: Buffer): http.ClientRequest {
    const { base, agent } = this.#upstream;
    return https.request({
      agent,
      host: base.hostname,
      port: base.port,
      method: request.method,
      path: request.url,
      headers: {
        ...endToEnd(request.headers),
        ...(body.length > 0 ? { "content-length": body.length } : {}),
      },
    }).on("response", ({ headers }) => {
      if (this.dateShiftMs === 0) return;
      headers.date = new Date(Date.now() + this.dateShiftMs).toUTCString();
    }).end(body.length > 0 ? body : undefined);
  }

  #forward({ request, answer }: Exchange, body: Buffer, fault: Fault | undefined): void {
    const upstream = this.#send(request, body);
    const broken = () => {
      if (!answer.writableEnded) request.socket.destroy();
    };
    if (isWatch(request)) this.watches.opening({ request, answer });
    upstream.on("error", broken);
    upstream.on("response", (reply) => {
      reply.on("error", broken);
      if (fault?.kind === "resetAfter") reply.on("end", broken).resume();
      else if (fault || isWatch(request)) this.#handOn({ request, answer }, reply, fault);
      else void wholeReply({ request, answer }, reply).then((handOn) => handOn());
    });
    answer.on("close", () => upstream.destroy());
  }

  #handOn(exchange: Exchange, reply: http.IncomingMessage, fault: Fault | undefined): void {
    const { request, answer } = exchange;
    const isSilent = fault?.kind === "stall";
    const forward: Forward = isWatch(request)
      ? this.watches.opened(exchange, { isSilent })
      : (act) => isSilent || answer.writableEnded || act();
    const headers = endToEnd(reply.headers);
    if (fault?.kind === "lines" || fault?.kind === "slow") delete headers["content-length"];
    answer.writeHead(reply.statusCode ?? 502, headers);
    answer.flushHeaders();
    const write = this.#writer(answer, fault);
    reply.on("data", (part: Buffer) => forward(() => write(part)));
    reply.on("end", () => forward(() => answer.end()));
  }

  #writer(answer: http.ServerResponse, fault: Fault | undefined): (part: Buffer) => void {
    const write = (text: string | Buffer) => void answer.write(text);
    if (fault?.kind === "lines") return byLines(fault.pass, write);
    if (fault?.kind !== "slow") return write;
    let dueAt = 0;
    return byLines((line) => [line], (text) => {
      const now = performance.now();
      dueAt = Math.max(dueAt, now) + fault.pauseMs;
      this.#later(dueAt - now, () => write(text));
    });
  }
}

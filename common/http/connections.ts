import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { type AnswerHead, HttpAnswer, type OnHead } from "./answer.ts";

/** Opens a connection that is ready for a request. Rejects when the signal aborts. */
export type Dial = (signal: AbortSignal) => Promise<Duplex>;

/** Shorter than an API server's 90 s, so that no request races with its close. */
const IDLE_MS = 30_000;

/** Called with the size of every part that was read. Returns how long to read nothing after it. */
export type Pace = (bytes: number) => number;

/** Options of a pool. */
export interface ConnectionsOptions {
  /** Whether a connection serves several requests, or one. */
  readonly keep: boolean;
  /** When to close unused connections; half a minute unless a test sets it. */
  readonly idleMs?: number;
  /** Slows down a server that sends too much; no limit by default. */
  readonly pace?: Pace | undefined;
}

/** Connections to one server. Each serves one request at a time; the newest goes first. */
export class Connections implements Disposable {
  readonly #dial: Dial;
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #idleMs: number;
  readonly #pace: Pace | undefined;
  #keeps: boolean;
  #isClosed = false;
  #look: ReturnType<typeof setInterval> | undefined;

  constructor(dial: Dial, { keep, idleMs = IDLE_MS, pace }: ConnectionsOptions) {
    this.#dial = dial;
    this.#pace = pace;
    this.#keeps = keep;
    this.#idleMs = idleMs;
  }

  /** Whether connections are reused, for the `Connection` header. */
  get keeps(): boolean {
    return this.#keeps;
  }

  /** Returns an idle connection, or a new one. */
  async take(signal: AbortSignal): Promise<Connection> {
    let waiting = this.#idle.pop();
    while (waiting && !waiting.isOpen) waiting = this.#idle.pop();
    if (waiting) return waiting;
    const socket = await this.#dial(signal);
    if (this.#isClosed || socket.destroyed) {
      socket.destroy();
      throw brokenOff();
    }
    const connection = new Connection(socket, () => this.#forget(connection), this.#pace);
    this.#all.add(connection);
    return connection;
  }

  /** Takes a connection back after its answer was read. */
  giveBack(connection: Connection): void {
    if (!this.#keeps || this.#isClosed || !connection.isReusable) return connection.destroy();
    connection.idleSinceMs = performance.now();
    this.#idle.push(connection);
    this.#look ??= setInterval(() => this.#closeUnused(), this.#idleMs / 4);
  }

  /** Finishes exchanges in flight, and keeps no connection from now on. */
  retire(): void {
    this.#keeps = false;
    for (const connection of [...this.#idle]) connection.destroy();
  }

  /** Closes every connection at once. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const connection of [...this.#all]) connection.destroy();
  }

  #closeUnused(): void {
    const before = performance.now() - this.#idleMs;
    for (const connection of [...this.#idle]) {
      if (connection.idleSinceMs < before) connection.destroy();
    }
  }

  #forget(connection: Connection): void {
    this.#all.delete(connection);
    const place = this.#idle.indexOf(connection);
    if (place >= 0) this.#idle.splice(place, 1);
    if (this.#all.size > 0) return;
    clearInterval(this.#look);
    this.#look = undefined;
  }
}

interface Exchange {
  readonly answer: HttpAnswer;
  readonly resolve: (head: AnswerHead) => void;
  readonly reject: (cause: Error) => void;
}

/** One connection, ready for a request. */
export class Connection {
  /** When it became idle. */
  idleSinceMs = 0;
  readonly #socket: Duplex;
  readonly #onGone: () => void;
  readonly #pace: Pace | undefined;
  #exchange: Exchange | undefined;
  #isReusable = true;
  /** How long to read nothing after the last part. */
  #restMs = 0;
  #pause: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: Duplex, onGone: () => void, pace?: Pace) {
    this.#socket = socket;
    this.#onGone = onGone;
    this.#pace = pace;
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.on("end", () => this.#end());
    socket.on("error", (cause) => this.destroy(cause));
    socket.on("close", () => this.destroy());
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  get isReusable(): boolean {
    return this.#isReusable;
  }

  /** Sends a request. Resolves at the proper end of its answer, and rejects if it breaks off. */
  send(message: string | Buffer, onHead: OnHead): Promise<AnswerHead> {
    return new Promise((resolve, reject) => {
      this.#exchange = { answer: new HttpAnswer(onHead), resolve, reject };
      this.#socket.write(message, "latin1");
    });
  }

  /** Closes it. A request in flight fails with this cause. */
  destroy(cause?: Error): void {
    this.#isReusable = false;
    this.#onGone();
    clearTimeout(this.#pause);
    this.#socket.destroy();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.answer.stop();
    exchange?.reject(cause ?? brokenOff());
  }

  #take(bytes: Buffer): void {
    const exchange = this.#exchange;
    if (!exchange) return this.destroy(); // bytes without a request
    try {
      exchange.answer.take(bytes);
    } catch (cause) {
      return this.destroy(cause as Error);
    }
    if (this.#exchange && exchange.answer.isComplete) this.#finish(exchange);
    this.#rest(bytes.length);
  }

  /** Stops reading for as long as the pace demands. */
  #rest(bytes: number): void {
    this.#restMs = this.#pace?.(bytes) ?? 0;
    if (this.#restMs === 0 || this.#pause !== undefined || !this.isOpen) return;
    // Not at once: Deno never resumes a connection that is paused while it passes on a part.
    this.#pause = setTimeout(() => {
      this.#socket.pause();
      this.#pause = setTimeout(() => {
        this.#pause = undefined;
        this.#socket.resume();
      }, this.#restMs);
    });
  }

  #end(): void {
    const exchange = this.#exchange;
    exchange?.answer.end();
    if (exchange?.answer.isComplete) this.#finish(exchange);
    this.destroy();
  }

  #finish({ answer, resolve }: Exchange): void {
    // If the answer came before the request was sent completely, the rest is still queued.
    this.#isReusable &&= answer.leavesOpen && this.#socket.writableLength === 0;
    this.#exchange = undefined;
    resolve(answer.head);
  }
}

/** Builds the error of a request whose connection broke. */
export const brokenOff = (): Error => new Error("the connection broke off");

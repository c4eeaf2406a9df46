import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { type AnswerHead, HttpAnswer, type OnHead } from "./answer.ts";

/** Opens a connection on which a request can be sent at once; gives up when the signal aborts. */
export type Dial = (signal: AbortSignal) => Promise<Duplex>;

/** Well before an API server's own 90 s, so that no request is lost in a race. */
const IDLE_MS = 30_000;

/** How long connections live. */
export interface ConnectionsOptions {
  /** Whether one serves request after request, or a single one. */
  readonly keep: boolean;
  /** For tests; otherwise unused ones are closed after half a minute. */
  readonly idleMs?: number;
}

/** Connections to one server: each serves one request at a time, the last used one first. */
export class Connections implements Disposable {
  readonly #dial: Dial;
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #idleMs: number;
  #keeps: boolean;
  #isClosed = false;
  #look: ReturnType<typeof setInterval> | undefined;

  constructor(dial: Dial, { keep, idleMs = IDLE_MS }: ConnectionsOptions) {
    this.#dial = dial;
    this.#keeps = keep;
    this.#idleMs = idleMs;
  }

  /** Whether a connection is used again, which a server may want to know. */
  get keeps(): boolean {
    return this.#keeps;
  }

  /** One that waits, or a new one. */
  async take(signal: AbortSignal): Promise<Connection> {
    let waiting = this.#idle.pop();
    while (waiting && !waiting.isOpen) waiting = this.#idle.pop();
    if (waiting) return waiting;
    const socket = await this.#dial(signal);
    if (this.#isClosed || socket.destroyed) {
      socket.destroy();
      throw brokenOff();
    }
    const connection = new Connection(socket, () => this.#forget(connection));
    this.#all.add(connection);
    return connection;
  }

  /** Takes one back whose answer was read. */
  giveBack(connection: Connection): void {
    if (!this.#keeps || this.#isClosed || !connection.isReusable) return connection.destroy();
    connection.idleSinceMs = performance.now();
    this.#idle.push(connection);
    this.#look ??= setInterval(() => this.#closeUnused(), this.#idleMs / 4);
  }

  /** Lets exchanges under way finish, and keeps no connection from now on. */
  retire(): void {
    this.#keeps = false;
    for (const connection of [...this.#idle]) connection.destroy();
  }

  /** Closes every connection, whatever is under way on it. */
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
  /** When it was given back. */
  idleSinceMs = 0;
  readonly #socket: Duplex;
  readonly #onGone: () => void;
  #exchange: Exchange | undefined;
  #isReusable = true;

  constructor(socket: Duplex, onGone: () => void) {
    this.#socket = socket;
    this.#onGone = onGone;
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

  /** Sends a request and resolves at the proper end of its answer, never at a mere break. */
  send(message: string | Buffer, onHead: OnHead): Promise<AnswerHead> {
    return new Promise((resolve, reject) => {
      this.#exchange = { answer: new HttpAnswer(onHead), resolve, reject };
      this.#socket.write(message, "latin1");
    });
  }

  /** Closes it; a request that is under way fails with this cause. */
  destroy(cause?: Error): void {
    this.#isReusable = false;
    this.#onGone();
    this.#socket.destroy();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.answer.stop();
    exchange?.reject(cause ?? brokenOff());
  }

  #take(bytes: Buffer): void {
    const exchange = this.#exchange;
    if (!exchange) return this.destroy(); // nobody asked
    try {
      exchange.answer.take(bytes);
    } catch (cause) {
      return this.destroy(cause as Error);
    }
    if (this.#exchange && exchange.answer.isComplete) this.#finish(exchange);
  }

  #end(): void {
    const exchange = this.#exchange;
    exchange?.answer.end();
    if (exchange?.answer.isComplete) this.#finish(exchange);
    this.destroy();
  }

  #finish({ answer, resolve }: Exchange): void {
    // An answer that came before the whole request had gone out leaves the rest of it behind.
    this.#isReusable &&= answer.leavesOpen && this.#socket.writableLength === 0;
    this.#exchange = undefined;
    resolve(answer.head);
  }
}

/** What a request fails with that a connection did not outlive. */
export const brokenOff = (): Error => new Error("the connection broke off");

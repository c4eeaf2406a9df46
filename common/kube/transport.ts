import type { LookupFunction } from "node:net";
import type { Connections, Pace } from "../http/connections.ts";
import { type Deadline, deadline, roughly } from "../time/deadline.ts";
import type { ConnectThroughProxy } from "../http/dial.ts";
import type { AnswerHead, OnHead } from "../http/answer.ts";
import { collectText, exchange, NoAnswerError, TooLargeError } from "../http/exchange.ts";
import { Slots } from "../time/slots.ts";
import { untilAborted } from "../time/wait.ts";
import { clusterConnections } from "./cluster_connections.ts";
import {
  type Credentials,
  CredentialSource,
  execRefused,
  type RunExec,
  type TlsMaterial,
} from "./credentials.ts";
import { KubeError } from "./kube_error.ts";
import { ConfigFileError, type KubeTarget } from "./kube_target.ts";
import { tlsFault } from "./tls_fault.ts";

/** Options of a transport. */
export interface TransportOptions {
  readonly userAgent: string;
  readonly runExec?: RunExec;
  readonly connectThroughProxy?: ConnectThroughProxy;
  /** The most calls in flight. Further calls wait. Watches do not count. */
  readonly maxInFlight?: number;
  /** The longest answer. */
  readonly maxAnswerBytes?: number;
  /** Slows down a server that sends too much; no limit by default. */
  readonly pace?: Pace;
  /** Resolves the server's host name instead of the system. Not called for an IP address. */
  readonly lookup?: LookupFunction;
  /** Called for every answer, and with status 0 for requests without one. */
  readonly onAnswer?: (method: string, status: number) => void;
  /** Called with the head of every answer, and the time when its request was begun. */
  readonly onHead?: (head: AnswerHead, begunAtMs: number) => void;
}

/**
 * Called right before the first byte. If it throws, the request is not sent. A signal that it
 * returns replaces the request's own, so a sent request is awaited until that one aborts.
 */
export type BeforeSend = () => AbortSignal | undefined;

/** One request to the API server. */
export interface TransportRequest {
  readonly method: string;
  /** Path and query, already encoded. */
  readonly path: string;
  /** For error messages: `Cannot get secrets "a/b"`. */
  readonly attempt: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
  /** The limit for the exchange, or for the head of a stream. Excludes getting credentials. */
  readonly timeoutMs: number;
  /** The longest answer to this request, if not that of the transport. */
  readonly maxAnswerBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly beforeSend?: BeforeSend | undefined;
}

/** A complete answer of any status. */
export interface TransportAnswer extends AnswerHead {
  readonly text: string;
  /** The credentials that the request was sent with. */
  readonly credentials: Credentials;
}

interface Pool {
  readonly tls: TlsMaterial;
  readonly calls: Connections;
  readonly streams: Connections;
}

const MAX_IN_FLIGHT = 50;
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/**
 * Keep-alive connections to one cluster as one user. Sends every request at most once, ends it at
 * its deadline or signal, and throws a `KubeError` if no answer arrives.
 */
export class Transport implements Disposable {
  readonly target: KubeTarget;
  readonly #options: TransportOptions;
  readonly #credentials: CredentialSource;
  readonly #base: URL;
  readonly #slots: Slots;
  #pool: Pool | undefined;

  constructor(target: KubeTarget, options: TransportOptions) {
    if (target.auth.kind === "exec" && !options.runExec) throw execRefused(target);
    if (target.proxyUrl && !options.connectThroughProxy) throw proxyRefused(target);
    this.target = target;
    this.#options = options;
    this.#credentials = new CredentialSource(target, options.runExec);
    this.#base = new URL(target.server);
    this.#slots = new Slots(options.maxInFlight ?? MAX_IN_FLIGHT);
  }

  /** Sends a request and reads the whole answer. */
  async send(request: TransportRequest): Promise<TransportAnswer> {
    const credentials = await untilAborted(this.#credentials.current(), request.signal);
    using limit = timeLimit(request);
    return await asKubeError(request, async () => {
      using _slot = await this.#slots.enter("calls", limit.signal);
      const body = collectText(request.maxAnswerBytes ?? this.#maxAnswerBytes);
      const head = await this.#exchange(request, credentials, "calls", limit, () => body.take);
      return { ...head, text: body.text(), credentials };
    });
  }

  /**
   * Sends a request and passes the answer's text on as it arrives. Resolves when the server ends
   * the answer properly, and throws if the connection breaks. Returns an answer with a status other
   * than 200 as a whole.
   */
  async stream(
    request: TransportRequest,
    onOpen: () => void,
    onText: (text: string) => void,
  ): Promise<TransportAnswer | undefined> {
    const credentials = await untilAborted(this.#credentials.current(), request.signal);
    using limit = timeLimit(request);
    return await asKubeError(request, async () => {
      const refusal = collectText(this.#maxAnswerBytes);
      const head = await this.#exchange(request, credentials, "streams", limit, ({ status }) => {
        if (status !== 200) return refusal.take;
        limit.lift();
        onOpen();
        const decoder = new TextDecoder();
        return (part) => onText(decoder.decode(part, { stream: true }));
      });
      return head.status === 200 ? undefined : { ...head, text: refusal.text(), credentials };
    });
  }

  /** Returns, after a 401, whether there are other credentials than the refused ones. */
  async renewCredentials(refusal: TransportAnswer): Promise<boolean> {
    return await this.#credentials.renewed(refusal.credentials);
  }

  /** Closes every connection. */
  [Symbol.dispose](): void {
    this.#pool?.calls[Symbol.dispose]();
    this.#pool?.streams[Symbol.dispose]();
    this.#pool = undefined;
  }

  get #maxAnswerBytes(): number {
    return this.#options.maxAnswerBytes ?? MAX_ANSWER_BYTES;
  }

  async #exchange(
    request: TransportRequest,
    { tls, headers }: Credentials,
    use: "calls" | "streams",
    limit: Deadline,
    onHead: OnHead,
  ): Promise<AnswerHead> {
    const { method, path, body } = request;
    const { userAgent, onAnswer } = this.#options;
    const begunAtMs = Date.now();
    const beforeSend = () => {
      const onceSent = request.beforeSend?.();
      if (onceSent) limit.follow(onceSent);
    };
    const own = { Accept: "application/json", "User-Agent": userAgent };
    const merged = { ...own, ...headers, ...request.headers };
    const outgoing = { method, path, body, beforeSend, headers: merged };
    let isTold = false;
    const tell = (status: number) => {
      isTold = true;
      onAnswer?.(method, status);
    };
    try {
      const connections = this.#poolFor(tls)[use];
      return await exchange(this.#base, connections, outgoing, limit.signal, (head) => {
        tell(head.status);
        this.#options.onHead?.(head, begunAtMs);
        return onHead(head);
      });
    } finally {
      if (!isTold) tell(0);
    }
  }

  #poolFor(tls: TlsMaterial): Pool {
    const known = this.#pool;
    if (known && sameMaterial(known.tls, tls)) return known;
    const fault = tlsFault(tls);
    // Certificate and key are replaced one by one: use the old pair until the new one is complete.
    if (fault && known) return known;
    if (fault) throw new ConfigFileError(this.target.origin, fault);
    known?.calls.retire();
    const { connectThroughProxy, lookup, pace } = this.#options;
    const connections = (keep: boolean) =>
      clusterConnections(this.target, tls, { keep, lookup, connectThroughProxy, pace });
    this.#pool = { tls, calls: connections(true), streams: connections(false) };
    return this.#pool;
  }
}

const sameMaterial = (a: TlsMaterial, b: TlsMaterial): boolean =>
  a === b || a.ca === b.ca && a.cert === b.cert && a.key === b.key;

async function asKubeError<T>(request: TransportRequest, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error;
    throw new KubeError(`${request.attempt}: ${error.message}`, {
      status: 0,
      reason: reasonOf(error),
      cause: error,
    });
  }
}

function reasonOf({ sent, cause }: NoAnswerError): string {
  if (cause instanceof TooLargeError) return "AnswerTooLarge";
  return sent ? "ConnectionLost" : "ConnectionFailed";
}

const timeLimit = (request: TransportRequest): Deadline =>
  deadline(request.timeoutMs, request.signal, () => timedOut(request), roughly);

const timedOut = (request: TransportRequest): KubeError =>
  new KubeError(`${request.attempt}: no answer within ${request.timeoutMs / 1000} s`, {
    status: 0,
    reason: "DeadlineExceeded",
  });

const proxyRefused = (target: KubeTarget): ConfigFileError =>
  new ConfigFileError(
    target.origin,
    "it sets proxy-url, which this process does not use",
    "use a kubeconfig that reaches the API server directly",
  );

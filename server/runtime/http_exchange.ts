import { Buffer } from "node:buffer";
import http from "node:http";
import https from "node:https";

/** One request as it goes over the wire. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query, already encoded; the base URL's own path comes before it. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: string | undefined;
  /** Called on the open connection, right before the first byte; throwing keeps all unsent. */
  readonly beforeSend?: (() => void) | undefined;
}

/** No answer, or only a part of one. `sent` tells whether the server may have acted on it. */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
  readonly sent: boolean;

  constructor(cause: Error, sent: boolean) {
    super(inPlainWords(cause), { cause });
    this.sent = sent;
  }
}

/** Host and port to connect to, without the brackets of IPv6 addresses. */
export function hostAndPort(url: URL): { host: string; port: number } {
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port) || (url.protocol === "http:" ? 80 : 443),
  };
}

/** Connections whose handshake is done; one handed on to a waiting request does not say so itself. */
const secured = new WeakSet<object>();

/** Heads like `103 Early Hints` that may come before an answer. */
const MAX_HINTS = 10;

/**
 * Sends a request exactly once and resolves with the head of the answer. Rejects with a
 * `NoAnswerError`, or with the signal's reason when that aborts first.
 */
export function exchange(
  base: URL,
  agent: http.Agent,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    let sent = false;
    let hints = 0;
    const isPlain = base.protocol === "http:";
    const body = request.body === undefined ? undefined : Buffer.from(request.body);
    const outgoing = (isPlain ? http : https).request({
      agent,
      ...hostAndPort(base),
      method: request.method,
      path: base.pathname.replace(/\/$/, "") + request.path,
      headers: { ...request.headers, ...(body ? { "Content-Length": String(body.length) } : {}) },
    });
    const onAbort = () => {
      outgoing.destroy();
      reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const settle = () => signal.removeEventListener("abort", onAbort);
    const release = () => {
      try {
        request.beforeSend?.();
      } catch (error) {
        settle();
        reject(error);
        return void outgoing.destroy();
      }
      sent = true;
      outgoing.end(body);
    };
    outgoing.on("socket", (socket) => {
      // Deno sends an aborted, reset or timed-out request again on a reused connection.
      outgoing.reusedSocket = false;
      if (isPlain ? !socket.connecting : secured.has(socket)) return release();
      socket.once(isPlain ? "connect" : "secureConnect", () => {
        secured.add(socket);
        release();
      });
    });
    outgoing.on("response", (answer) => {
      settle();
      resolve(answer);
    });
    outgoing.on("information", () => {
      if (++hints > MAX_HINTS) outgoing.destroy(new Error("the server only announces its answer"));
    });
    outgoing.on("upgrade", (_answer, socket) => {
      settle();
      socket.destroy();
      reject(new NoAnswerError(new Error("the server changed the protocol"), sent));
    });
    outgoing.on("error", (cause) => {
      settle();
      reject(new NoAnswerError(cause, sent));
    });
  });
}

/** Hands on the body as it arrives and resolves at its proper end, never at a mere break. */
export function readBody(
  answer: http.IncomingMessage,
  signal: AbortSignal | undefined,
  onPart: (part: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      answer.destroy();
      reject(signal?.reason);
    };
    if (signal?.aborted) return onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    const settle = () => signal?.removeEventListener("abort", onAbort);
    const fail = (cause: Error) => {
      settle();
      reject(new NoAnswerError(cause, true));
    };
    const onClose = () => fail(new Error("the connection broke off"));
    answer.on("data", onPart);
    answer.on("end", () => {
      answer.off("close", onClose);
      settle();
      resolve();
    });
    answer.on("error", fail);
    answer.on("close", onClose);
  });
}

/** Reads a whole body as text; one over `maxBytes` is an error, and is not read to its end. */
export async function readText(
  answer: http.IncomingMessage,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  const tooLarge = () => answer.destroy(new Error(`the answer is larger than ${maxBytes} bytes`));
  using _guard = framingGuard(answer, maxBytes, tooLarge);
  await readBody(answer, signal, (part) => {
    bytes += part.length;
    if (bytes <= maxBytes) parts.push(part);
    else tooLarge();
  });
  return Buffer.concat(parts, bytes).toString("utf8");
}

const FRAMING_LOOK_MS = 100;
const FRAMING_BYTES = 1024 * 1024;

/** Looks at all that arrives: the size of a chunk may have digits without end, and no body. */
function framingGuard(
  { socket, headers }: http.IncomingMessage,
  maxBytes: number,
  tooLarge: () => void,
): Disposable | undefined {
  if (headers["transfer-encoding"] === undefined) return undefined; // no chunks
  const limit = socket.bytesRead + 2 * maxBytes + FRAMING_BYTES;
  const timer = setInterval(() => {
    if (socket.bytesRead > limit) tooLarge();
  }, FRAMING_LOOK_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

const PLAIN_WORDS: Record<string, string> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection broke off",
  EPIPE: "the connection broke off",
  ENOTFOUND: "the host name is unknown",
  EAI_AGAIN: "the host name cannot be looked up now",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ETIMEDOUT: "the connection timed out",
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  CERT_NOT_YET_VALID: "the server's certificate is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the server's certificate is not signed by a trusted authority",
  SELF_SIGNED_CERT_IN_CHAIN: "the server's certificate is not signed by a trusted authority",
  UNABLE_TO_GET_ISSUER_CERT: "the server's certificate is not signed by a trusted authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "the server's certificate is not signed by a trusted authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the server's certificate is not signed by a trusted authority",
};

/** What a network error means, for readers who do not know its code. */
export function inPlainWords(cause: Error): string {
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  return PLAIN_WORDS[code] ?? cause.message;
}

import { Buffer } from "node:buffer";
import type { Connections } from "./connections.ts";
import type { AnswerHead, OnHead } from "./answer.ts";

/** One request. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query, already encoded. The base URL's path is put before it. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: string | undefined;
  /** Called right before the first byte. If it throws, nothing is sent. */
  readonly beforeSend?: (() => void) | undefined;
}

/** A whole answer. */
export interface TextAnswer extends AnswerHead {
  readonly text: string;
}

/** No answer, or only part of one. `sent` tells whether the server may have acted. */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
  readonly sent: boolean;

  constructor(cause: Error, sent: boolean) {
    super(inPlainWords(cause), { cause });
    this.sent = sent;
  }
}

/** The body of an answer is longer than allowed. */
export class TooLargeError extends Error {
  override readonly name = "TooLargeError";
}

/** Returns host and port, without the brackets of IPv6 addresses. */
export function hostAndPort(url: URL): { host: string; port: number } {
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port) || (url.protocol === "http:" ? 80 : 443),
  };
}

/**
 * Sends a request at most once and resolves at the proper end of its answer. `onHead` decides what
 * happens to the body. Rejects with a `NoAnswerError`, or with the signal's reason.
 */
export async function exchange(
  base: URL,
  connections: Connections,
  request: HttpRequest,
  signal: AbortSignal,
  onHead: OnHead,
): Promise<AnswerHead> {
  signal.throwIfAborted();
  const message = asMessage(base, request, connections.keeps);
  const connection = await connections.take(signal).catch((cause) => {
    throw signal.aborted ? signal.reason : new NoAnswerError(cause, false);
  });
  try {
    request.beforeSend?.();
    signal.throwIfAborted();
  } catch (error) {
    connections.giveBack(connection);
    throw error;
  }
  const onAbort = () => connection.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await connection.send(message, onHead);
  } catch (cause) {
    throw signal.aborted ? signal.reason : new NoAnswerError(cause as Error, true);
  } finally {
    signal.removeEventListener("abort", onAbort);
    connections.giveBack(connection);
  }
}

/** Sends a request and returns the whole body as text. Rejects a body over `maxBytes`. */
export async function exchangeText(
  base: URL,
  connections: Connections,
  request: HttpRequest,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<TextAnswer> {
  const body = collectText(maxBytes);
  const head = await exchange(base, connections, request, signal, () => body.take);
  return { ...head, text: body.text() };
}

/** Joins the parts of a body, up to a size. */
export function collectText(maxBytes: number): { take(part: Buffer): void; text(): string } {
  const parts: Buffer[] = [];
  let bytes = 0;
  return {
    take(part) {
      bytes += part.length;
      if (bytes > maxBytes) throw new TooLargeError(`the answer is larger than ${maxBytes} bytes`);
      parts.push(part);
    },
    text() {
      const [first, ...others] = parts;
      if (!first) return "";
      return (others.length === 0 ? first : Buffer.concat(parts, bytes)).toString("utf8");
    },
  };
}

function asMessage(
  { host, pathname }: URL,
  { method, path, headers, body }: HttpRequest,
  keep: boolean,
): string | Buffer {
  const target = pathname.replace(/\/$/, "") + path;
  if (/[^\x21-\x7e]/.test(target)) throw new TypeError("the path is not encoded");
  let head = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n`;
  if (!keep) head += "Connection: close\r\n";
  for (const [name, values] of Object.entries(headers)) {
    for (const value of Array.isArray(values) ? values : [values]) {
      if (!HEADER_NAME.test(name) || UNSENDABLE.test(value)) {
        throw new TypeError(`the header ${JSON.stringify(name)} cannot be sent`);
      }
      head += `${name}: ${value}\r\n`;
    }
  }
  if (body === undefined) return `${head}\r\n`;
  const length = Buffer.byteLength(body);
  const message = Buffer.from(`${head}Content-Length: ${length}\r\n\r\n`, "latin1");
  return Buffer.concat([message, Buffer.from(body)]);
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

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

/** Explains a network error to readers who do not know its code. */
export function inPlainWords(cause: Error): string {
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  return PLAIN_WORDS[code] ?? cause.message;
}

/** Returns whether the server's certificate is not trusted. Do not retry then. */
export function isTrustFault(cause: unknown): boolean {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return /CERT|ISSUER|SIGNATURE|ALTNAME/.test(code);
}

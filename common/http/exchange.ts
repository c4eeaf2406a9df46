import { Buffer } from "node:buffer";
import type { Connections } from "./connections.ts";
import type { AnswerHead, OnHead } from "./answer.ts";

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

/** A whole answer. */
export interface TextAnswer extends AnswerHead {
  readonly text: string;
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

/**
 * Sends a request exactly once and resolves at the proper end of its answer, whose body `onHead`
 * decides about. Rejects with a `NoAnswerError`, or with the signal's reason when that aborts first.
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

/** The same, with the whole body as text; one over `maxBytes` is an error. */
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

/** Puts the parts of a body together, up to this size. */
export function collectText(maxBytes: number): { take(part: Buffer): void; text(): string } {
  const parts: Buffer[] = [];
  let bytes = 0;
  return {
    take(part) {
      bytes += part.length;
      if (bytes > maxBytes) throw new Error(`the answer is larger than ${maxBytes} bytes`);
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

/** What a network error means, for readers who do not know its code. */
export function inPlainWords(cause: Error): string {
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  return PLAIN_WORDS[code] ?? cause.message;
}

/** Whether a connection failed because the server's certificate is not trusted: a retry is useless. */
export function isTrustFault(cause: unknown): boolean {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return /CERT|ISSUER|SIGNATURE|ALTNAME/.test(code);
}

import { Buffer } from "node:buffer";
import type http from "node:http";

/** A request and its answer. */
export interface Exchange {
  readonly request: http.IncomingMessage;
  readonly answer: http.ServerResponse;
}

/** Headers that belong to one connection and are not forwarded. */
const HOP_BY_HOP = new Set(["connection", "keep-alive", "transfer-encoding", "host"]);

/** Returns the headers to forward. */
export const endToEnd = (headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));

/** Returns whether a request opens a watch. */
export const isWatch = ({ url = "" }: Pick<http.IncomingMessage, "url">): boolean =>
  /[?&]watch=(true|1)(&|$)/.test(url);

/**
 * Reads a whole reply, and returns a function that forwards it in one piece: Deno's server may
 * never finish an answer in parts, and then blocks the next request.
 */
export async function wholeReply(
  { request, answer }: Exchange,
  reply: http.IncomingMessage,
): Promise<() => void> {
  const body = await wholeBody(reply);
  if (!reply.complete) return () => void request.socket.destroy();
  return () => void answer.writeHead(reply.statusCode ?? 502, endToEnd(reply.headers)).end(body);
}

/** Reads a whole message, or the part before its connection broke. */
export async function wholeBody(request: http.IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  try {
    for await (const part of request) parts.push(part);
  } catch { /* The caller disconnected, so the answer does not matter. */ }
  return Buffer.concat(parts);
}

/** Splits text that comes in pieces into lines, and writes the replacement of each line. */
export function byLines(pass: (line: string) => string[], write: (text: string) => void) {
  const decoder = new TextDecoder();
  let rest = "";
  return (part: Buffer): void => {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.flatMap(pass)) write(`${line}\n`);
  };
}

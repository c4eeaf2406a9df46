import { Buffer } from "node:buffer";
import type http from "node:http";

/** A request and the answer that it will get. */
export interface Exchange {
  readonly request: http.IncomingMessage;
  readonly answer: http.ServerResponse;
}

/** Headers that belong to one connection, and are not handed on. */
const HOP_BY_HOP = new Set(["connection", "keep-alive", "transfer-encoding", "host"]);

/** The headers that are for the other end. */
export const endToEnd = (headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));

/** Whether a request opens a watch. */
export const isWatch = ({ url = "" }: Pick<http.IncomingMessage, "url">): boolean =>
  /[?&]watch=(true|1)(&|$)/.test(url);

/**
 * Reads a reply to its end; calling what comes back hands it on. In one piece, because Deno's
 * server now and then never finishes an answer in parts, and keeps the next request waiting.
 */
export async function wholeReply(
  { request, answer }: Exchange,
  reply: http.IncomingMessage,
): Promise<() => void> {
  const body = await wholeBody(reply);
  if (!reply.complete) return () => void request.socket.destroy();
  return () => void answer.writeHead(reply.statusCode ?? 502, endToEnd(reply.headers)).end(body);
}

/** All of a message, or what came of it before it broke off. */
export async function wholeBody(request: http.IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  try {
    for await (const part of request) parts.push(part);
  } catch { /* The caller went away: whatever is forwarded then reaches nobody. */ }
  return Buffer.concat(parts);
}

/** Takes text in pieces, and writes what becomes of each complete line. */
export function byLines(pass: (line: string) => string[], write: (text: string) => void) {
  const decoder = new TextDecoder();
  let rest = "";
  return (part: Buffer): void => {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.flatMap(pass)) write(`${line}\n`);
  };
}

import type http from "node:http";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers";

type Listener = (request: http.IncomingMessage, response: http.ServerResponse) => unknown;

/** How many pipelined requests may wait; hardly any client pipelines at all. */
const MAX_WAITING = 10;
/** Time limit for a request until its response was read, also by a slow client. */
const MAX_REQUEST_MS = 300_000;

/** Limits of one connection. */
export interface OneAtATimeOptions {
  /** Five minutes unless given. */
  readonly maxRequestMs?: number;
}

/**
 * Starts a pipelined request only after the previous response was read; a client that never reads
 * would fill our memory. Disconnects a client with more than ten waiting.
 */
export function oneAtATime(
  listener: Listener,
  { maxRequestMs = MAX_REQUEST_MS }: OneAtATimeOptions = {},
): Listener {
  const ahead = new WeakMap<Socket, (() => void)[]>();

  const begin = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    const { socket } = request;
    if (socket.destroyed) return void ahead.delete(socket);
    const limit = setTimeout(() => socket.destroy(), maxRequestMs);
    const finish = () => {
      clearTimeout(limit);
      socket.off("close", finish);
      response.off("finish", finish);
      const next = ahead.get(socket)?.shift();
      if (next) setImmediate(next); // lets other connections run in between
      else ahead.delete(socket);
    };
    socket.once("close", finish);
    response.once("finish", finish);
    listener(request, response);
  };

  return (request, response) => {
    const { socket } = request;
    const waiting = ahead.get(socket);
    if (!waiting) {
      ahead.set(socket, []);
      begin(request, response);
    } else if (waiting.length < MAX_WAITING) waiting.push(() => begin(request, response));
    else setImmediate(() => socket.destroy()); // destroying it while it is read costs more
  };
}

import type http from "node:http";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers";

type Listener = (request: http.IncomingMessage, response: http.ServerResponse) => unknown;

/** How much may be asked ahead; hardly any client asks for more than one thing at a time. */
const MAX_AHEAD = 10;
/** How long a request may last until its answer has been taken, on a slow line too. */
const MAX_TAKEN_MS = 300_000;

/** What is done with requests on one connection. */
export interface OneAtATimeOptions {
  /** For tests; otherwise five minutes. */
  readonly maxTakenMs?: number;
}

/**
 * Begins with a request only when the answer before it on the same connection was taken: a caller
 * that asks for much and reads nothing would fill the memory. One that overdoes it is cut off.
 */
export function oneAtATime(
  listener: Listener,
  { maxTakenMs = MAX_TAKEN_MS }: OneAtATimeOptions = {},
): Listener {
  const ahead = new WeakMap<Socket, (() => void)[]>();

  const begin = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    const { socket } = request;
    if (socket.destroyed) return void ahead.delete(socket);
    const limit = setTimeout(() => socket.destroy(), maxTakenMs);
    const finish = () => {
      clearTimeout(limit);
      socket.off("close", finish);
      response.off("finish", finish);
      const next = ahead.get(socket)?.shift();
      if (next) setImmediate(next); // others take their turns meanwhile
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
    } else if (waiting.length < MAX_AHEAD) waiting.push(() => begin(request, response));
    else setImmediate(() => socket.destroy()); // while it is being read, an end costs even more
  };
}

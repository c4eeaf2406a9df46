import type http from "node:http";

/** How long the rest of a body is read that nobody wants: who is cut off never sees the answer. */
const LINGER_MS = 10_000;

/**
 * Reads on for a while when a request was answered before all of it had come; all such requests
 * together in about one part a millisecond, so that nobody else waits behind them.
 */
export function lingering(listener: http.RequestListener): http.RequestListener {
  let unread = 0;

  const readOn = (request: http.IncomingMessage): void => {
    const limit = setTimeout(() => request.socket.destroy(), LINGER_MS);
    unread++;
    request.once("close", () => {
      clearTimeout(limit);
      unread--;
    });
    request.on("data", () => {
      request.pause();
      setTimeout(() => request.resume(), unread);
    });
  };

  return (request, response) => {
    const { socket } = request;
    const isLast = hasBody(request) && !response.shouldKeepAlive;
    if (isLast) response.shouldKeepAlive = true; // else it would be closed with the answer
    response.once("finish", () => {
      const isRead = request.complete || request.destroyed;
      if (!isRead) readOn(request);
      if (!isLast) return;
      if (isRead) socket.end();
      else request.once("close", () => socket.end());
    });
    return listener(request, response);
  };
}

const hasBody = ({ headers }: http.IncomingMessage): boolean =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;

import type http from "node:http";

/** How long to read a body after the answer; a client that is cut off would lose the answer. */
const LINGER_MS = 10_000;

/**
 * Keeps reading a body for a while after its request was answered early. All such requests together
 * read about one chunk a millisecond, so that they do not delay others.
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
    if (isLast) response.shouldKeepAlive = true; // else Node closes it with the answer
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

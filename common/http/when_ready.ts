import type { Duplex } from "node:stream";
import { brokenOff } from "./connections.ts";

/** Resolves at the event; rejects, and closes the socket, when it fails or the signal aborts first. */
export async function whenReady(
  socket: Duplex,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onClose = () => reject(brokenOff());
  const onAbort = () => reject(signal.reason);
  socket.once(event, resolve);
  socket.on("error", reject); // for good: an error that comes late must have a listener
  socket.once("close", onClose);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    socket.off("close", onClose);
  }
}

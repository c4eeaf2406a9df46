import type { Duplex } from "node:stream";
import { brokenOff } from "./connections.ts";

/** Resolves at the event. Rejects and closes the socket if it fails or the signal aborts. */
export async function whenReady(
  socket: Duplex,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onClose = () => reject(brokenOff());
  const onAbort = () => reject(signal.reason);
  socket.once(event, resolve);
  socket.on("error", reject); // stays: a late error without a listener would end the process
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

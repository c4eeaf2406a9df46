import { errorChain } from "../errors.ts";
import type { Log } from "./log.ts";

/**
 * The last resort: keeps the process alive when code on a socket, in a timer or in an event handler
 * throws, or when nobody awaits a promise that fails. Each failure is logged with its stack, and
 * counted.
 */
export function surviveUnhandled(log: Log, count: () => void): void {
  const survive = (event: Event, failure: unknown) => {
    event.preventDefault();
    count();
    const error = failure instanceof Error ? failure : new Error(`${failure} was thrown`);
    // In a field of its own: `--zap-stacktrace-level` must not hide where the bug is.
    log.error("a failure was not handled", { error: errorChain(error), stack: error.stack });
  };
  globalThis.addEventListener("error", (event) => survive(event, event.error ?? event.message));
  globalThis.addEventListener("unhandledrejection", (event) => survive(event, event.reason));
}

import { errorChain } from "../errors.ts";
import type { Log } from "./log.ts";

/**
 * Keeps the process alive when an event handler or timer throws, or when a rejected promise is not
 * handled. Logs each failure with its stack, and counts it.
 */
export function surviveUnhandled(log: Log, count: () => void): void {
  const survive = (event: Event, failure: unknown) => {
    event.preventDefault();
    count();
    const error = failure instanceof Error ? failure : new Error(`${failure} was thrown`);
    // The stack has its own field, because `--zap-stacktrace-level` must not hide a bug.
    log.error("a failure was not handled", { error: errorChain(error), stack: error.stack });
  };
  globalThis.addEventListener("error", (event) => survive(event, event.error ?? event.message));
  globalThis.addEventListener("unhandledrejection", (event) => survive(event, event.reason));
}

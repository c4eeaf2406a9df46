import type { DaemonProcess } from "./daemon.ts";
import { INSPECTABLE, Inspector } from "./inspector.ts";

/**
 * Options of a process whose heap can be read. Without the V8 flag, a snapshot has only the first
 * 1,024 characters of a string.
 */
export const READABLE_HEAP = {
  denoFlags: INSPECTABLE,
  env: { DENO_V8_FLAGS: "--heap-snapshot-string-limit=10000000" },
};

/** Returns a heap snapshot of a process as text. */
export async function heapOf(daemon: DaemonProcess): Promise<string> {
  await using inspector = await Inspector.attach(daemon);
  const parts: unknown[] = [];
  inspector.onEvent = ({ params: { chunk } }) => {
    if (chunk !== undefined) parts.push(chunk);
  };
  await inspector.ask("HeapProfiler.takeHeapSnapshot");
  return parts.join("");
}

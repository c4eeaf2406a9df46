import type { ResourceType } from "../api/resources.ts";
import { childController } from "../time/runnable.ts";
import { type KubeClient, type Selection, selectionQuery } from "./client.ts";
import { errorFromEvent, KubeError, type KubeStatus } from "./kube_error.ts";
import { parseLossless } from "./lossless_json.ts";
import { METADATA_OBJECT } from "./metadata.ts";
import { collectionPath } from "./paths.ts";
import { answerError } from "./send_patiently.ts";

/** The objects to watch. */
export interface WatchTarget {
  readonly type: ResourceType;
  readonly selection: Selection;
  readonly metadataOnly: boolean;
}

/** Called with the events of a watch. */
export interface WatchCallbacks {
  /** The server accepted the watch. */
  opened(): void;
  event(type: string, object: unknown): void;
}

const OPEN_TIMEOUT_MS = 15_000;
/** No object is nearly as large, so a longer line is an attack on our memory. */
const LONGEST_LINE = 16 * 1024 * 1024;

/**
 * Watches from a resourceVersion on. Without one, the initial objects come first as `ADDED`, up to
 * a bookmark that `endsInitialEvents`. Resolves when the server ends the watch properly. Throws for
 * anything else, also for silence.
 */
export async function watch(
  client: KubeClient,
  { type, selection, metadataOnly }: WatchTarget,
  resourceVersion: string | undefined,
  silenceMs: number,
  signal: AbortSignal,
  callbacks: WatchCallbacks,
): Promise<void> {
  const query = selectionQuery(selection);
  query.set("watch", "true");
  query.set("allowWatchBookmarks", "true");
  // Spread over five minutes, so that watches opened together do not end together.
  query.set("timeoutSeconds", String(300 + Math.floor(Math.random() * 300)));
  if (resourceVersion !== undefined) query.set("resourceVersion", resourceVersion);
  else {
    query.set("sendInitialEvents", "true");
    query.set("resourceVersionMatch", "NotOlderThan");
  }
  const attempt = `Cannot watch ${type.plural}`;
  using guard = silenceGuard(silenceMs, attempt, signal);
  const request = {
    method: "GET",
    path: `${collectionPath(type, selection.namespace)}?${query}`,
    attempt,
    timeoutMs: OPEN_TIMEOUT_MS,
    signal: guard.signal,
    ...(metadataOnly ? { headers: { Accept: METADATA_OBJECT } } : {}),
  };
  const feed = lineSplitter((line) => {
    const event = parseLossless(line) as { type: string; object: unknown } | null;
    if (typeof event?.type !== "string") throw new Error(`${attempt}: a line is not an event`);
    if (event.type === "ERROR") throw errorFromEvent(attempt, event.object as KubeStatus);
    callbacks.event(event.type, event.object);
  });
  const refusal = await client.transport.stream(request, callbacks.opened, (text) => {
    guard.heard();
    try {
      feed(text);
    } catch (error) {
      guard.fail(error);
    }
  });
  if (!refusal) return;
  if (refusal.status === 401) await client.transport.renewCredentials(refusal);
  throw answerError(request, refusal);
}

/** Returns whether a bookmark ends the initial objects. */
export function endsInitialEvents(bookmark: unknown): boolean {
  const { metadata } = bookmark as { metadata?: { annotations?: Record<string, string> } };
  return metadata?.annotations?.["k8s.io/initial-events-end"] === "true";
}

/** Splits a stream of text into lines. Throws if a line is too long. */
export function lineSplitter(
  onLine: (line: string) => void,
  longest = LONGEST_LINE,
): (text: string) => void {
  let rest = "";
  return (text) => {
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      const line = rest + text.slice(start, end);
      rest = "";
      start = end + 1;
      if (line !== "") onLine(line);
    }
    rest += text.slice(start);
    if (rest.length <= longest) return;
    rest = "";
    throw new Error(`a line is longer than ${longest} characters`);
  };
}

interface SilenceGuard extends Disposable {
  readonly signal: AbortSignal;
  heard(): void;
  fail(error: unknown): void;
}

/** Aborts after a silence, or when the parent does. */
function silenceGuard(ms: number, attempt: string, parent: AbortSignal): SilenceGuard {
  const guard = childController(parent);
  let lastHeard = performance.now();
  const check = () => {
    const left = lastHeard + ms - performance.now();
    if (left > 0) {
      timer = setTimeout(check, left);
      return;
    }
    guard.abort(
      new KubeError(`${attempt}: nothing was heard for ${ms / 1000} s`, {
        status: 0,
        reason: "Silence",
      }),
    );
  };
  let timer = setTimeout(check, ms);
  return {
    signal: guard.signal,
    heard: () => void (lastHeard = performance.now()),
    fail: (error) => guard.abort(error),
    [Symbol.dispose]() {
      clearTimeout(timer);
      guard[Symbol.dispose]();
    },
  };
}

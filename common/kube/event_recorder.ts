import { EVENTS, type KubeObject } from "../api/resources.ts";
import type { FieldManager } from "../api/names.ts";
import { microTime } from "../api/times.ts";
import type { Log } from "../log/log.ts";
import { sleep } from "../time/wait.ts";
import type { KubeClient } from "./client.ts";

/** An Event: news about an object, for people who look at it. */
export type RecordEvent = (
  object: KubeObject,
  type: "Normal" | "Warning",
  reason: string,
  note: string,
) => void;

/** Records Events in the background. */
export interface EventRecorder {
  readonly record: RecordEvent;
  /** Sends all waiting Events. Resolves once they are answered. */
  settle(): Promise<void>;
}

/** The pace of Events. */
export interface EventPace {
  /** Events wait for a silence of this length, so that they do not slow a bind down. */
  readonly quietMs: number;
  /** The longest wait. */
  readonly longestMs: number;
}

interface Waiting {
  readonly event: ReturnType<typeof eventFor>;
  readonly sinceMs: number;
}

const PACE: EventPace = { quietMs: 100, longestMs: 10_000 };
const REMEMBERED = 5_000;
const MAX_WAITING = 1_000;
const REPEAT_AFTER_MS = 3_600_000;
const SETTLE_MS = 2_000;
const MAX_NOTE_LENGTH = 1_000;

/**
 * Records Kubernetes Events in the background. Callers never wait for them, and a failure to send
 * one is only logged. Sends them one by one in quiet moments. Repeats the same news about the same
 * object at most once an hour.
 */
export function eventRecorder(
  kube: Pick<KubeClient, "create">,
  { log, manager, reporter, instance, now, pace = PACE }: {
    readonly log: Log;
    readonly manager: FieldManager;
    /** The program, in the form `xbind.io/backend`. */
    readonly reporter: string;
    /** The process, as it is named in elections. */
    readonly instance: string;
    readonly now: () => Date;
    /** For tests; otherwise `PACE`. */
    readonly pace?: EventPace;
  },
): EventRecorder {
  const told = new Map<string, number>();
  const waiting: Waiting[] = [];
  let lastNewsMs = 0;
  let sending: Promise<void> | undefined;
  let hurry = new AbortController();
  let giveUp = new AbortController();

  const record: RecordEvent = (object, type, reason, note) => {
    const key = `${object.metadata.uid} ${reason} ${note}`;
    const lastTold = told.get(key);
    if (lastTold !== undefined && now().getTime() - lastTold < REPEAT_AFTER_MS) return;
    if (waiting.length >= MAX_WAITING) return log.debug("dropped an Event", { reason });
    told.delete(key);
    told.set(key, now().getTime());
    if (told.size > REMEMBERED) told.delete(told.keys().next().value ?? "");
    lastNewsMs = performance.now();
    const event = eventFor(object, { type, reason, note, reporter, instance, now: now() });
    waiting.push({ event, sinceMs: lastNewsMs });
    sending ??= sendInQuiet();
  };

  const sendInQuiet = async () => {
    for (let next; (next = waiting[0]);) {
      const dueMs = Math.min(lastNewsMs + pace.quietMs, next.sinceMs + pace.longestMs);
      const leftMs = dueMs - performance.now();
      if (leftMs > 0) {
        await sleep(leftMs, hurry.signal).catch(() => {}); // aborted: nothing is left to send
        continue;
      }
      waiting.shift();
      await send(next);
    }
    sending = undefined; // in the same step as the last check, so that no Event comes in between
  };

  const send = async ({ event }: Waiting) => {
    try {
      await kube.create(EVENTS, event, manager, giveUp.signal);
    } catch (error) {
      log.debug("cannot record an Event", { reason: event.reason, error });
    }
  };

  const settle = async () => {
    hurry.abort();
    hurry = new AbortController();
    const timer = setTimeout(() => giveUp.abort(), SETTLE_MS);
    await Promise.all([sending, ...waiting.splice(0).map(send)]);
    clearTimeout(timer);
    giveUp = new AbortController();
  };
  return { record, settle };
}

function eventFor(
  { apiVersion, kind, metadata }: KubeObject,
  { type, reason, note, reporter, instance, now }: {
    readonly type: "Normal" | "Warning";
    readonly reason: string;
    readonly note: string;
    readonly reporter: string;
    readonly instance: string;
    readonly now: Date;
  },
) {
  const { name, uid, namespace } = metadata;
  const suffix = crypto.randomUUID().slice(0, 8);
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: {
      name: `${name.slice(0, 200).replace(/[-.]+$/, "")}.${suffix}`,
      namespace: namespace ?? "default",
    },
    eventTime: microTime(now),
    reportingController: reporter,
    reportingInstance: instance,
    action: reason,
    reason,
    type,
    note: note.slice(0, MAX_NOTE_LENGTH),
    regarding: { apiVersion, kind, name, ...(namespace && { namespace }), ...(uid && { uid }) },
  };
}

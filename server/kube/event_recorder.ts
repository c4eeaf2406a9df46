import { EVENTS, type KubeObject } from "../api/resources.ts";
import { FIELD_MANAGERS } from "../names.ts";
import type { Log } from "../runtime/log.ts";
import { sleep } from "../runtime/sleep.ts";
import type { KubeClient } from "./client.ts";

/** Tells the people who look at an object what happened to it. */
export type RecordEvent = (
  object: KubeObject,
  type: "Normal" | "Warning",
  reason: string,
  note: string,
) => void;

/** Records Events in the background. */
export interface EventRecorder {
  readonly record: RecordEvent;
  /** Sends what still waits, and resolves once nothing is under way. */
  settle(): Promise<void>;
}

const REMEMBERED = 5_000;
const MAX_PENDING = 200;
const REPEAT_AFTER_MS = 3_600_000;
/** Long enough for a bind to end that was waiting for the news: an Event is never in its way. */
const QUIET_MS = 100;
const SETTLE_MS = 2_000;
const MAX_NOTE_LENGTH = 1_000;

/**
 * Records Kubernetes Events in the background: nobody waits for them and nothing fails with them.
 * The same news about the same object is told once an hour at most.
 */
export function eventRecorder(
  kube: KubeClient,
  { log, instance, now }: { log: Log; instance: string; now: () => Date },
): EventRecorder {
  const told = new Map<string, number>();
  const pending = new Set<Promise<void>>();
  let hurry = new AbortController();
  let giveUp = new AbortController();

  const record: RecordEvent = (object, type, reason, note) => {
    const key = `${object.metadata.uid} ${reason} ${note}`;
    const lastTold = told.get(key);
    if (lastTold !== undefined && now().getTime() - lastTold < REPEAT_AFTER_MS) return;
    if (pending.size >= MAX_PENDING) return log.debug("dropped an Event", { reason });
    told.delete(key);
    told.set(key, now().getTime());
    if (told.size > REMEMBERED) told.delete(told.keys().next().value ?? "");
    const event = eventFor(object, type, reason, note, instance, now());
    const { signal } = giveUp;
    const recording = sleep(QUIET_MS, hurry.signal)
      .catch(() => {}) // it is hurried, and so be it
      .then(() => kube.create(EVENTS, event, FIELD_MANAGERS.issuer, signal))
      .catch((error) => log.debug("cannot record an Event", { reason, error }))
      .then(() => void pending.delete(recording));
    pending.add(recording);
  };

  const settle = async () => {
    hurry.abort();
    hurry = new AbortController();
    const timer = setTimeout(() => giveUp.abort(), SETTLE_MS);
    await Promise.all(pending);
    clearTimeout(timer);
    giveUp = new AbortController();
  };
  return { record, settle };
}

function eventFor(
  { apiVersion, kind, metadata }: KubeObject,
  type: "Normal" | "Warning",
  reason: string,
  note: string,
  instance: string,
  now: Date,
) {
  const { name, uid, namespace = "default" } = metadata;
  const suffix = crypto.randomUUID().slice(0, 8);
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: `${name.slice(0, 200).replace(/[-.]+$/, "")}.${suffix}`, namespace },
    eventTime: now.toISOString().replace("Z", "000Z"),
    reportingController: "xbind.io/backend",
    reportingInstance: instance,
    action: reason,
    reason,
    type,
    note: note.slice(0, MAX_NOTE_LENGTH),
    regarding: { apiVersion, kind, name, ...(uid ? { uid } : {}) },
  };
}

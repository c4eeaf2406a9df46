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

const REMEMBERED = 5_000;
const MAX_PENDING = 200;
const REPEAT_AFTER_MS = 3_600_000;
/** Long enough for a bind to end that was waiting for the news: an Event is never in its way. */
const QUIET_MS = 100;
const MAX_NOTE_LENGTH = 1_000;

/**
 * Records Kubernetes Events in the background: nobody waits for them and nothing fails with them.
 * The same news about the same object is told once an hour at most.
 */
export function eventRecorder(
  kube: KubeClient,
  { log, instance, now }: { log: Log; instance: string; now: () => Date },
): RecordEvent {
  const told = new Map<string, number>();
  let pending = 0;
  return (object, type, reason, note) => {
    const key = `${object.metadata.uid} ${reason} ${note}`;
    const lastTold = told.get(key);
    if (lastTold !== undefined && now().getTime() - lastTold < REPEAT_AFTER_MS) return;
    if (pending >= MAX_PENDING) return log.debug("dropped an Event", { reason });
    told.delete(key);
    told.set(key, now().getTime());
    if (told.size > REMEMBERED) told.delete(told.keys().next().value ?? "");
    pending++;
    const event = eventFor(object, type, reason, note, instance, now());
    sleep(QUIET_MS)
      .then(() => kube.create(EVENTS, event, FIELD_MANAGERS.issuer))
      .catch((error) => log.debug("cannot record an Event", { reason, error }))
      .finally(() => pending--);
  };
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

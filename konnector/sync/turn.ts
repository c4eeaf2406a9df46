import { type Outcome, requeueAfter } from "../../common/control/controller.ts";
import type { ObjectKey } from "../../common/kube/paths.ts";
import type { ConsumerRecord, ProviderRecord } from "./records.ts";
import { eventObject, type SyncContext } from "./sync_context.ts";

/** One turn on one object: what was read from the provider itself in it. */
export interface Turn {
  readonly key: string;
  readonly at: ObjectKey;
  /** Newer than the cache; null if the provider has no such object. */
  live: ProviderRecord | null | undefined;
  readonly signal: AbortSignal;
}

/** Looks at an object again if no event comes before. */
export const lookAgainSoon = (): Outcome => requeueAfter(5_000);

/** Records an Event about an object. */
export function tell(
  sync: SyncContext,
  object: ConsumerRecord,
  type: "Normal" | "Warning",
  reason: string,
  note: string,
): void {
  sync.recordEvent(eventObject(sync, object), type, reason, note);
}

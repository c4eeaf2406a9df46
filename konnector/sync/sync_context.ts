import type { ConflictPolicy, KubeObject, ResourceType } from "../../common/api/resources.ts";
import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import type { ObjectKey } from "../../common/kube/paths.ts";
import type { Log } from "../../common/log/log.ts";
import type { CarryRules } from "./carried.ts";
import type { Contents } from "./contents.ts";
import type { Fights } from "./fights.ts";
import type { LiveLooks } from "./live_looks.ts";
import type { Coverage } from "./plan_sync.ts";
import type { CopyNamespaces } from "./copy_namespaces.ts";
import type { ConsumerRecord, ProviderRecord } from "./records.ts";

/** A bound API: the same on both sides. */
export interface BoundType extends ResourceType {
  readonly hasStatusSubresource: boolean;
}

/** What a binding wants for objects of one namespace. */
export interface NamespaceCoverage {
  readonly coverage: Coverage;
  readonly conflictPolicy: ConflictPolicy;
}

/** A content that the provider refused. */
export interface Refused {
  readonly hash: string;
  /** When, on the monotonic clock. */
  readonly at: number;
  /** After this time it is tried again. */
  readonly retryMs: number;
  /** Why, in the provider's words. */
  readonly reason: string;
  /** Whether the provider would refuse a new copy as well. */
  readonly isFinal?: true;
}

/** What is kept about an object besides its records. Most objects have no notes. */
export interface Notes {
  /** The object on the provider that is not our copy. Our watch does not report it. */
  seen?: ProviderRecord;
  /** The answer to a write was lost, or the copy must be read again. */
  isUncertain?: boolean;
  /** The content that the provider refused. */
  refused?: Refused;
  /** The copy that we deleted. */
  deletedUid?: string | undefined;
  /** Another writer deleted the copy. */
  isLost?: boolean;
  /** The provider's status that was written, where the consumer stored another. */
  writtenStatusHash?: string;
}

/** One API of one Connection: what the sync of its objects works with. */
export interface SyncContext {
  readonly type: BoundType;
  readonly connection: string;
  /** Identity of the consumer cluster. */
  readonly clusterUid: string;
  readonly consumer: KubeClient;
  readonly provider: KubeClient;
  /** Whether the provider is known to refuse an apply that may only create if the object exists. */
  readonly comparesVersions: () => boolean;
  readonly objects: Cache<ConsumerRecord>;
  readonly copies: Cache<ProviderRecord>;
  readonly contents: Contents;
  readonly notes: Map<string, Notes>;
  readonly changes: Fights;
  readonly deletions: Fights;
  /** Returns when the binding that covers the API was created. */
  readonly boundSince: () => string;
  /** Labels and annotations that are carried to copies. */
  readonly carry: CarryRules;
  readonly namespaces: CopyNamespaces;
  readonly liveLooks: LiveLooks;
  /** Returns when to try refused content again. */
  readonly refusedRetryMs: () => number;
  /** Wakes the objects of a namespace. */
  readonly wake: (namespace: string) => void;
  readonly coverageOf: (namespace: string) => NamespaceCoverage;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
  /** Called with the time from hearing of a change to its arrival on the other side. */
  readonly onSynced: (direction: "up" | "down", ms: number) => void;
  /** Called when the provider refuses a right, and when it refuses the credential. */
  readonly onDenied: (error: unknown) => void;
}

/** Returns whether both sides are known and heard of. */
export const isCertain = ({ objects, copies }: SyncContext): boolean =>
  [objects, copies].every((cache) => cache.hasSynced && cache.brokenForMs() === undefined);

/** Names an object of the API for an Event. */
export const eventObject = ({ type }: SyncContext, record: ConsumerRecord): KubeObject => ({
  apiVersion: `${type.group}/${type.version}`,
  kind: type.kind,
  metadata: record.metadata,
});

/** Splits a key of the queue. */
export function parseKey(key: string): ObjectKey {
  const slash = key.indexOf("/");
  if (slash < 0) return { name: key };
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Forgets an object that is gone. */
export function forget({ notes, changes, deletions }: SyncContext, key: string): void {
  notes.delete(key);
  changes.forget(key);
  deletions.forget(key);
}

/** Returns the notes of an object for writing. */
export function notesFor({ notes }: Pick<SyncContext, "notes">, key: string): Notes {
  const known = notes.get(key) ?? {};
  notes.set(key, known);
  return known;
}

/** Returns why the content of an object is not applied now. */
export function faultOf(
  { notes }: Pick<SyncContext, "notes">,
  key: string,
  { hash, wishes }: ConsumerRecord,
): string | undefined {
  if (wishes.problem !== undefined) return wishes.problem;
  const refused = notes.get(key)?.refused;
  const isStill = refused?.hash === hash && performance.now() - refused.at < refused.retryMs;
  return isStill ? refused.reason : undefined;
}

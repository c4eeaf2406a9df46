import type { Cache } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { ConfigMap, ResourceType, Secret } from "../../common/api/resources.ts";
import type { Log } from "../../common/log/log.ts";
import type { CopyNamespaces } from "../sync/copy_namespaces.ts";
import type { Fights } from "../sync/fights.ts";
import type { Allowed } from "./never_copied.ts";
import type { CopyRecord, SourceRecord, Viewer } from "./related_records.ts";
import type { RelatedKind, RuleSet } from "./rules_of.ts";

/** The cluster with the originals, or the one with the copies. */
export type Side = "source" | "target";

/** Why an object that a rule selects has no copy. */
export interface Problem {
  readonly reason: "ForeignObjectExists" | "OwnedByAnother" | "Rejected";
  /** UID of the binding that wants the copy. */
  readonly binding: string;
  /** `namespace/name` of the object. */
  readonly object: string;
  readonly message: string;
}

/** What is remembered of a key besides its records. Most keys have no notes. */
export interface CopyNotes {
  /** The object in the place of the copy, because no watch reports it. */
  seen?: CopyRecord | undefined;
  /** The place must be read. */
  isUncertain?: boolean;
  /** The place was read since this process started. */
  isKnown?: boolean;
  /** The version of the source that must not be copied, for its type or its form. */
  barredVersion?: string | undefined;
  /** The version of the source that the target refused, and when. */
  refused?: { readonly version: string; readonly at: number } | undefined;
  /** The version of the source that was applied last. */
  appliedVersion?: string | undefined;
  /** The copy that we deleted. */
  deletedUid?: string | undefined;
  /** Another writer deleted the copy. */
  isLost?: boolean;
  problem?: Problem | undefined;
  /** How often in a row the source was not found as its watch had reported it. */
  missedReads?: number;
}

/** One kind of one Connection: what the sync of its copies works with. */
export interface RelatedContext extends Viewer {
  readonly kind: RelatedKind;
  readonly type: ResourceType<Secret & ConfigMap>;
  readonly ruleSet: RuleSet;
  readonly allowed: Allowed;
  /** The only namespace that the provider's credential reaches; undefined if it reaches all. */
  readonly reach: string | undefined;
  /** The cluster with the originals. */
  readonly source: KubeClient;
  /** The cluster with the copies. */
  readonly target: KubeClient;
  readonly sources: Cache<SourceRecord>;
  readonly copies: Cache<CopyRecord>;
  readonly notes: Map<string, CopyNotes>;
  readonly changes: Fights;
  readonly deletions: Fights;
  readonly namespaces: CopyNamespaces;
  /** Wakes the sources of a namespace. */
  readonly wake: (namespace: string) => void;
  readonly log: Log;
  /** Records an Event about a binding. */
  readonly tell: (binding: string, reason: string, note: string) => void;
  /** Called when a cluster refuses a right, and when it refuses the credential. */
  readonly onDenied: (side: Side, error: unknown) => void;
  /** Called when the problems or the number of copies may have changed. */
  readonly onProgress: () => void;
}

/** Returns the notes of a key for writing. */
export function notesFor({ notes }: Pick<RelatedContext, "notes">, key: string): CopyNotes {
  const known = notes.get(key) ?? {};
  notes.set(key, known);
  return known;
}

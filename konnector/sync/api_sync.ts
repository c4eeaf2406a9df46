import { FIELD_MANAGERS, LABELS, SYNCER_FINALIZER } from "../../common/api/names.ts";
import type { SyncSummary } from "../../common/api/sync_summary.ts";
import { hasFinalizer, isDeleting } from "../../common/api/resources.ts";
import { controller, type Outcome } from "../../common/control/controller.ts";
import type { ShowController } from "../../common/control/controller_metrics.ts";
import { Queue } from "../../common/control/queue.ts";
import { errorChain } from "../../common/errors.ts";
import { Cache, type CacheReports, type Change } from "../../common/kube/cache.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import { keyText } from "../../common/kube/paths.ts";
import type { Log } from "../../common/log/log.ts";
import { all, type Runnable } from "../../common/time/runnable.ts";
import type { CarryRules } from "./carried.ts";
import { clear, Contents } from "./contents.ts";
import { covers } from "./drift.ts";
import { CHANGES, DELETIONS, Fights } from "./fights.ts";
import { reconcileObject, whenBack } from "./reconcile_object.ts";
import { LiveLooks } from "./live_looks.ts";
import { lookThrough } from "./look_through.ts";
import { CopyNamespaces } from "./copy_namespaces.ts";
import { type LeftoverRules, Leftovers, type ReportLeftovers } from "./leftovers.ts";
import {
  type ConsumerRecord,
  consumerRecord,
  ownFieldSet,
  type ProviderRecord,
  providerRecord,
  takeOver,
} from "./records.ts";
import { refusalOf } from "./refusals.ts";
import { RefusedRetry } from "./refused_retry.ts";
import {
  type BoundType,
  forget,
  type NamespaceCoverage,
  notesFor,
  type SyncContext,
} from "./sync_context.ts";
import { syncSummary } from "./sync_summary.ts";
import { expectedFields, syncedFields } from "./synced_fields.ts";
import { type SyncCounts, Tally } from "./tally.ts";

/** What the sync of one API works with. */
export interface ApiSyncOptions {
  readonly type: BoundType;
  readonly connection: string;
  /** Identity of the consumer cluster. */
  readonly clusterUid: string;
  readonly consumer: KubeClient;
  readonly provider: KubeClient;
  readonly comparesVersions: () => boolean;
  /** The only namespace that the credential reaches; undefined if it reaches all. */
  readonly namespace: string | undefined;
  readonly coverageOf: (namespace: string) => NamespaceCoverage;
  /** Returns when the binding was made that covers the API. */
  readonly boundSince: () => string;
  /** Labels and annotations that are carried to copies. */
  readonly carry: CarryRules;
  readonly leftoverRules: LeftoverRules;
  /** Time between two looks through the records. */
  readonly lookThroughMs: number;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
  readonly metrics: { readonly controller: ShowController };
  readonly reports: (side: "consumer" | "provider") => CacheReports;
  readonly onSynced: (direction: "up" | "down", ms: number) => void;
  readonly onDenied: (error: unknown) => void;
  readonly onLeftovers: ReportLeftovers;
  /** Called when counts may have changed. */
  readonly onProgress: () => void;
}

const MANAGER = FIELD_MANAGERS.konnector;
/** Copies with other sets of fields are compared with their objects at the start. */
const MOST_FIELD_SETS = 10_000;
/** More copies of this cluster than it can have objects: a provider that fills our memory. */
const MOST_COPIES = 500_000;
/** Objects in work at once. More would only wait in the API servers, before a user's new object. */
const WORKERS = 16;

/** Syncs the objects of one API through one Connection. */
export class ApiSync {
  readonly type: BoundType;
  readonly #options: ApiSyncOptions;
  readonly #queue = new Queue();
  readonly #context: SyncContext;
  /** The sets of fields that we own in the listed copies, by hash: most copies share theirs. */
  readonly #fieldSets = new Map<string, unknown>();
  readonly #held = new Tally();
  readonly #conflicts = new Tally();
  readonly #refused = new Tally();
  readonly #leftovers: Leftovers;
  readonly #refusedRetry = new RefusedRetry();
  #copiesRead = 0;

  constructor(options: ApiSyncOptions) {
    const { type, clusterUid, namespace, reports } = options;
    this.type = type;
    this.#options = options;
    const copies: Cache<ProviderRecord> = new Cache({
      type,
      selection: {
        labelSelector: `${LABELS.managed}=true,${LABELS.consumerClusterUid}=${clusterUid}`,
        ...(namespace ? { namespace } : {}),
      },
      metadataOnly: false,
      decode: (item) => this.#decodeCopy(item, copies),
    }, { reports: reports("provider"), most: { objects: MOST_COPIES, further: "refused" } });
    const objects: Cache<ConsumerRecord> = new Cache({
      type,
      selection: {},
      metadataOnly: false,
      decode: (item) => this.#decodeObject(item, objects, copies),
    }, { reports: reports("consumer") });
    this.#context = {
      ...options,
      objects,
      copies,
      contents: new Contents(),
      notes: new Map(),
      changes: new Fights(CHANGES),
      deletions: new Fights(DELETIONS),
      namespaces: new CopyNamespaces(),
      liveLooks: new LiveLooks(),
      refusedRetryMs: () => this.#refusedRetry.waitMs(),
      wake: (namespace) => this.#wake(namespace),
    };
    this.#leftovers = new Leftovers(this.#context, options.leftoverRules, (...found) => {
      options.onLeftovers(...found);
      options.onProgress();
    });
    objects.onChange((change) => this.#objectChanged(change));
    copies.onChange((change) => this.#copyChanged(change));
  }

  /** Syncs until the signal aborts. */
  readonly run: Runnable = (signal) => {
    const { objects, copies } = this.#context;
    const { consumer, provider, log, metrics } = this.#options;
    return all(
      (signal) => copies.run(provider, signal),
      this.#leftovers.run,
      lookThrough(this.#context, (key) => this.#queue.add(key), this.#options.lookThroughMs),
      async (signal) => {
        // The provider's list comes first: equal hashes then settle while the objects arrive.
        await copies.whenSynced(signal);
        await objects.run(consumer, signal);
      },
      async (signal) => {
        await objects.whenSynced(signal);
        this.#fieldSets.clear();
        this.#options.onProgress();
        await controller({
          name: `sync/${this.type.plural}.${this.type.group}`,
          queue: this.#queue,
          reconcile: (key, signal) => this.#reconcile(key, signal),
          isPassing: (error) => refusalOf(error) === "unauthorized",
          workers: WORKERS,
          log,
          metrics,
        })(signal);
      },
    )(signal);
  };

  /** Whether both sides are known. */
  get hasSynced(): boolean {
    return this.#context.objects.hasSynced && this.#context.copies.hasSynced;
  }

  /** Resolves once the copies are known. */
  async whenCopiesKnown(signal: AbortSignal): Promise<void> {
    await this.#context.copies.whenSynced(signal);
  }

  /** How many copies the provider has sent so far. */
  get copiesRead(): number {
    return this.#copiesRead;
  }

  get counts(): SyncCounts {
    return {
      objects: this.#context.objects.size,
      held: (namespace) => this.#held.count(namespace),
      conflicts: (namespace) => this.#conflicts.count(namespace),
      refused: (namespace) => this.#refused.count(namespace),
      leftovers: (namespace) => this.#leftovers.count(namespace),
    };
  }

  /** Counts the objects, and lists some that are not synced. */
  get summary(): SyncSummary {
    const shown = { conflicts: this.#conflicts.count(), refused: this.#refused.count() };
    return syncSummary(this.#context, shown);
  }

  /** Tries content again that the provider refused, because its schema changed. */
  tryRefused(): void {
    const keys = this.#refusedRetry.schemaChanged(this.#context.notes);
    for (const key of keys) this.#queue.add(key);
  }

  /** Looks at all objects again, because coverage or rights changed. */
  lookAgain(): void {
    this.#context.namespaces.clear();
    for (const notes of this.#context.notes.values()) delete notes.refused;
    for (const { metadata } of this.#context.objects.values()) this.#queue.add(keyText(metadata));
  }

  #wake(namespace: string): void {
    for (const { metadata } of this.#context.objects.values()) {
      if ((metadata.namespace ?? "") === namespace) this.#queue.add(keyText(metadata));
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    try {
      return await reconcileObject(this.#context, key, signal);
    } catch (error) {
      if (signal.aborted || refusalOf(error) !== "passing") throw error;
      this.#options.log.debug("a cluster is away", { object: key, error: errorChain(error) });
      return whenBack();
    }
  }

  #decodeCopy(item: unknown, copies: Cache<ProviderRecord>): ProviderRecord {
    this.#copiesRead++;
    const { hasStatusSubresource } = this.type;
    const heardAt = copies.hasSynced ? performance.now() : 0;
    const record = providerRecord(item, { manager: MANAGER, hasStatusSubresource }, heardAt);
    if (copies.hasSynced) return record;
    // The objects of a list are mostly in sync. The others are read again.
    record.status = undefined;
    if (!this.#fieldSets.has(record.owned) && this.#fieldSets.size < MOST_FIELD_SETS) {
      this.#fieldSets.set(record.owned, ownFieldSet(item, MANAGER));
    }
    return record;
  }

  #decodeObject(
    item: unknown,
    objects: Cache<ConsumerRecord>,
    copies: Cache<ProviderRecord>,
  ): ConsumerRecord {
    const synced = syncedFields(item, this.#options.carry);
    const record = consumerRecord(item, synced, objects.hasSynced ? performance.now() : 0);
    const copy = copies.get(record.metadata);
    if (copy?.syncedHash === record.hash) clear(record);
    if (objects.hasSynced) return record;
    this.#context.contents.trim(record);
    if (copy) {
      copy.isSuspect = !covers(this.#fieldSets.get(copy.owned), expectedFields(synced));
    }
    return record;
  }

  #objectChanged({ key, before, after, writer }: Change<ConsumerRecord>): void {
    const { contents } = this.#context;
    if (before) contents.drop(before);
    if (after) contents.hold(after);
    const { metadata } = (after ?? before) as ConsumerRecord;
    const namespace = metadata.namespace ?? "";
    this.#held.change(namespace, holds(before), holds(after));
    this.#conflicts.change(namespace, before?.mark !== undefined, after?.mark !== undefined);
    this.#refused.change(namespace, isFaulty(before), isFaulty(after));
    if (before && after && before.metadata.uid === after.metadata.uid) {
      after.statusWrittenAt = before.statusWrittenAt ?? -Infinity;
      if (writer || before.heardAt > 0 && before.hash === after.hash) {
        after.heardAt = before.heardAt;
      }
    }
    if (before && before.metadata.uid !== after?.metadata.uid) {
      forget(this.#context, key);
    }
    if (before?.mark !== after?.mark || holds(before) !== holds(after)) this.#options.onProgress();
    if (writer) return; // the turn that wrote it goes on
    this.#queue.add(key, { urgent: this.#context.objects.hasSynced });
  }

  #copyChanged({ key, before, after, writer }: Change<ProviderRecord>): void {
    if (after) {
      const { namespace } = after.metadata;
      if (namespace) this.#context.namespaces.exists(namespace);
      if (before) takeOver(after, before);
      after.accepted ??= after.owned;
    }
    if (before && !after) this.#noteLoss(key, before);
    if (!writer && this.#context.copies.hasSynced) this.#queue.add(key, { urgent: true });
  }

  /** Notes that another writer deleted the copy of an object that stays. */
  #noteLoss(key: string, { metadata }: ProviderRecord): void {
    const object = this.#context.objects.at(key);
    if (!object || isDeleting(object)) return;
    if (this.#context.notes.get(key)?.deletedUid === metadata.uid) return;
    notesFor(this.#context, key).isLost = true;
  }
}

const isFaulty = (record: ConsumerRecord | undefined): boolean => record?.shownError !== undefined;

const holds = (record: ConsumerRecord | undefined): boolean =>
  record !== undefined && hasFinalizer(record, SYNCER_FINALIZER);

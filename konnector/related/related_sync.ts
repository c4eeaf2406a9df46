import { relatedType } from "../../common/api/resources.ts";
import { controller, type Outcome } from "../../common/control/controller.ts";
import type { ShowController } from "../../common/control/controller_metrics.ts";
import { Queue } from "../../common/control/queue.ts";
import { errorChain } from "../../common/errors.ts";
import { Cache, type CacheReports, type Change } from "../../common/kube/cache.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { keyText } from "../../common/kube/paths.ts";
import { all, type Runnable } from "../../common/time/runnable.ts";
import { CopyNamespaces } from "../sync/copy_namespaces.ts";
import { CHANGES, DELETIONS, Fights } from "../sync/fights.ts";
import { whenBack } from "../sync/reconcile_object.ts";
import { refusalOf } from "../sync/refusals.ts";
import { copiesOf } from "./copy_of.ts";
import { selectedBy, sourceSelection } from "./matching.ts";
import { reconcileCopy } from "./reconcile_copy.ts";
import { notesFor, type Problem, type RelatedContext, type Side } from "./related_context.ts";
import {
  type CopyRecord,
  copyRecord,
  ownerOf,
  type SourceRecord,
  sourceRecord,
} from "./related_records.ts";

/** What a sync makes itself. */
type OwnParts =
  | "type"
  | "bindings"
  | "sources"
  | "copies"
  | "notes"
  | "changes"
  | "deletions"
  | "namespaces"
  | "wake";

/** What the sync of one kind works with. */
export interface RelatedSyncOptions extends Omit<RelatedContext, OwnParts> {
  readonly metrics: { readonly controller: ShowController };
  readonly reports: (side: Side) => CacheReports;
  /** Called when there is no rule and no copy. */
  readonly onEmpty: () => void;
}

/** Copies in work at once, and so contents in memory. */
const WORKERS = 4;
/** A hostile cluster can fill neither our memory nor the other cluster with more objects. */
const MOST_SOURCES = 10_000;
const MOST_COPIES = 2 * MOST_SOURCES;

/** Keeps the copies of one kind through one Connection, for a fixed set of rules. */
export class RelatedSync {
  readonly #options: RelatedSyncOptions;
  readonly #context: RelatedContext;
  readonly #queue = new Queue();
  /** The keys that were there at the start, and have not been handled yet. */
  readonly #unseen = new Set<string>();
  #isWorking = false;

  constructor(options: RelatedSyncOptions) {
    const { kind, ruleSet, clusterUid, allowed, reach, reports } = options;
    const { resource, direction } = kind;
    const type = relatedType(resource);
    this.#options = options;
    const sources: Cache<SourceRecord> = new Cache({
      type,
      selection: sourceSelection(ruleSet.rules, resource, reach, allowed),
      metadataOnly: true,
      decode: (item) => this.#selected(item as MetadataObject, !sources.hasSynced),
    }, { reports: reports("source"), most: { objects: MOST_SOURCES, further: "ignored" } });
    const namespace = direction === "FromConsumer" ? reach : undefined;
    const copies: Cache<CopyRecord> = new Cache({
      type,
      selection: { labelSelector: copiesOf(clusterUid), ...(namespace ? { namespace } : {}) },
      metadataOnly: false,
      decode: copyRecord,
    }, { reports: reports("target"), most: { objects: MOST_COPIES, further: "ignored" } });
    this.#context = {
      ...options,
      type,
      bindings: ruleSet.bindings,
      sources,
      copies,
      notes: new Map(),
      changes: new Fights(CHANGES),
      deletions: new Fights(DELETIONS),
      namespaces: new CopyNamespaces(),
      wake: (namespace) => this.#wakeAll(namespace),
    };
    sources.onChange(({ before, after }) => this.#wake((after ?? before) as SourceRecord));
    copies.onChange((change) => this.#copyChanged(change));
  }

  /** Keeps the copies up to date until the signal aborts. */
  readonly run: Runnable = async (signal) => {
    const { sources, copies, source, target, ruleSet } = this.#context;
    const hasRules = ruleSet.rules.length > 0;
    try {
      await all(
        (signal) => copies.run(target, signal),
        ...(hasRules ? [(signal: AbortSignal) => sources.run(source, signal)] : []),
        async (signal) => {
          // What is not in a complete list is gone. Before both are complete, nothing is known.
          await copies.whenSynced(signal);
          if (hasRules) await sources.whenSynced(signal);
          this.#options.onProgress();
          if (!this.#endIfEmpty()) await this.#work(signal);
        },
      )(signal);
    } finally {
      this.#queue.shutdown();
    }
  };

  /** Whether both sides are known. */
  get hasSynced(): boolean {
    const { sources, copies, ruleSet } = this.#context;
    return copies.hasSynced && (ruleSet.rules.length === 0 || sources.hasSynced);
  }

  /** Whether everything that was there at the start has been handled. */
  get hasSettled(): boolean {
    return this.#isWorking && this.#unseen.size === 0;
  }

  /** Counts the copies of a binding that must be deleted with it. */
  count(binding: string): number {
    if (this.#context.ruleSet.frozen.includes(binding)) return 0;
    return this.#ownCopies().filter((copy) => copy.binding === binding).length;
  }

  /** Lists what is not copied for a binding, and why. */
  problems(binding: string): Problem[] {
    const { notes, sources, kind: { resource } } = this.#context;
    const found = [...notes.values()].flatMap(({ problem }) =>
      problem?.binding === binding ? [problem] : []
    );
    if (sources.size < MOST_SOURCES) return found;
    const message = `More than ${MOST_SOURCES} ${resource} match; the others are not copied`;
    return [...found, { reason: "Rejected", binding, object: resource, message }];
  }

  #ownCopies(): CopyRecord[] {
    const { copies, reach } = this.#context;
    return [...copies.values()].filter((copy) =>
      ownerOf(copy, this.#context) === "ours" &&
      this.#context.bindings.includes(copy.binding ?? "") &&
      (reach === undefined || reach === copy.metadata.namespace)
    );
  }

  /** Without rules there is nothing to do once the last copy is gone. */
  #endIfEmpty(): boolean {
    const isEmpty = this.#context.ruleSet.rules.length === 0 && this.#ownCopies().length === 0;
    if (isEmpty) this.#options.onEmpty();
    return isEmpty;
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { kind: { resource, direction }, connection, log, sources } = this.#context;
    for (const { metadata } of sources.values()) this.#unseen.add(keyText(metadata));
    this.#isWorking = true;
    if (this.hasSettled) this.#options.onProgress();
    await controller({
      name: `related/${resource}/${direction}/${connection}`,
      queue: this.#queue,
      reconcile: (key, signal) => this.#reconcile(key, signal),
      isPassing: (error) => ["unauthorized", "forbidden"].includes(refusalOf(error) ?? ""),
      workers: WORKERS,
      log,
      metrics: this.#options.metrics,
    })(signal);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    try {
      return await reconcileCopy(this.#context, key, signal);
    } catch (error) {
      if (signal.aborted || refusalOf(error) !== "passing") throw error;
      this.#context.log.debug("a cluster is away", { object: key, error: errorChain(error) });
      return whenBack();
    } finally {
      if (this.#unseen.delete(key) && this.hasSettled) this.#options.onProgress();
    }
  }

  /** Keeps nothing of an object that no rule selects. */
  #selected(item: MetadataObject, isListed: boolean): SourceRecord | undefined {
    const { ruleSet, allowed } = this.#context;
    const binding = selectedBy(item.metadata, ruleSet.rules, allowed);
    return binding === undefined ? undefined : sourceRecord(item, binding, isListed);
  }

  #copyChanged({ before, after, writer }: Change<CopyRecord>): void {
    const record = (after ?? before) as CopyRecord;
    if (before && !after) {
      const key = keyText(record.metadata);
      const isOwnWork = this.#context.notes.get(key)?.deletedUid === before.metadata.uid;
      if (!isOwnWork && this.#context.sources.get(record.metadata)) {
        notesFor(this.#context, key).isLost = true;
      }
      this.#options.onProgress();
      if (this.hasSynced && this.#endIfEmpty()) return;
    }
    if (!writer) this.#wake(record);
  }

  #wakeAll(namespace: string): void {
    for (const source of this.#context.sources.values()) {
      if (source.metadata.namespace === namespace) this.#wake(source);
    }
  }

  #wake({ metadata }: MetadataObject): void {
    this.#queue.add(keyText(metadata));
  }
}

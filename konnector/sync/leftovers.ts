import { ANNOTATIONS } from "../../common/api/names.ts";
import { isDeleting } from "../../common/api/resources.ts";
import { errorChain } from "../../common/errors.ts";
import { isConflict, isNotFound } from "../../common/kube/kube_error.ts";
import { keyOf, keyText } from "../../common/kube/paths.ts";
import { every } from "../../common/time/every.ts";
import type { Runnable } from "../../common/time/runnable.ts";
import type { DeletionLimit } from "./deletion_limit.ts";
import { ownerOf, type ProviderRecord } from "./records.ts";
import { isCertain, type SyncContext } from "./sync_context.ts";

/** What is done about leftovers. */
export interface LeftoverRules {
  readonly leftovers: "report" | "delete";
  /** Time between two sweeps, and so between the two checks of a leftover. */
  readonly leftoversIntervalMs: number;
  readonly deletions: DeletionLimit;
}

/** Says which copies were found without an object, and what became of them. */
export type ReportLeftovers = (objects: readonly string[], areDeleted: boolean) => void;

interface Look {
  /** UID of the copy. */
  readonly uid: string;
  readonly at: number;
  /** A copy may outlive its object on purpose. One of an earlier binding is never deleted. */
  readonly kind: "leftover" | "orphan" | "earlier";
  isSure: boolean;
}

const MOST_LOOKS = 100;

/**
 * Finds copies of this cluster that have no object here: their finalizer was taken off by hand, an
 * unbind was forced, or the cluster was restored. It checks only while both watches work, and asks
 * this cluster twice, so that a lost connection never makes a copy look like a leftover.
 */
export class Leftovers {
  readonly #sync: SyncContext;
  readonly #rules: LeftoverRules;
  readonly #report: ReportLeftovers;
  readonly #now: () => number;
  readonly #looks = new Map<string, Look>();

  constructor(
    sync: SyncContext,
    rules: LeftoverRules,
    report: ReportLeftovers,
    now: () => number = () => performance.now(),
  ) {
    this.#sync = sync;
    this.#rules = rules;
    this.#report = report;
    this.#now = now;
  }

  /** Sweeps once per interval until the signal aborts. */
  get run(): Runnable {
    const { log } = this.#sync;
    const failed = (error: unknown) =>
      log.warn("cannot look for leftovers", { error: errorChain(error) });
    return every(this.#rules.leftoversIntervalMs, (signal) => this.sweep(signal), failed);
  }

  /** Counts the confirmed leftovers, of one namespace or of all. */
  count(namespace?: string): number {
    const prefix = namespace === undefined ? "" : `${namespace}/`;
    let count = 0;
    for (const [key, { isSure, kind }] of this.#looks) {
      if (isSure && kind !== "orphan" && key.startsWith(prefix)) count++;
    }
    return count;
  }

  /** Checks copies without an object, and reports or deletes those that are confirmed. */
  async sweep(signal: AbortSignal): Promise<void> {
    if (!isCertain(this.#sync)) return;
    const suspects = this.#suspects();
    for (const [key, { uid }] of this.#looks) {
      if (suspects.get(key)?.metadata.uid !== uid) this.#looks.delete(key);
    }
    const found: string[] = [];
    const deleted: string[] = [];
    let looks = 0;
    for (const [key, copy] of suspects) {
      if (looks === MOST_LOOKS) break;
      const known = this.#looks.get(key);
      if (known && !this.#isDue(known)) continue;
      const isDeletable = this.#rules.leftovers === "delete" && known?.kind === "leftover";
      if (isDeletable && !this.#rules.deletions.isOpen) continue;
      looks++;
      if (await this.#hasObject(copy, signal)) this.#looks.delete(key);
      else if (!known) await this.#firstLook(key, copy, signal);
      else if (!isDeletable) {
        known.isSure = true;
        found.push(key);
      } else if (await this.#delete(copy, signal)) deleted.push(key);
    }
    if (found.length > 0) this.#report(found, false);
    if (deleted.length > 0) this.#report(deleted, true);
  }

  #isDue({ isSure, at }: Look): boolean {
    return !isSure && this.#now() - at >= this.#rules.leftoversIntervalMs;
  }

  #suspects(): Map<string, ProviderRecord> {
    const { copies, objects, clusterUid, coverageOf } = this.#sync;
    const suspects = new Map<string, ProviderRecord>();
    for (const copy of copies.values()) {
      const { metadata } = copy;
      if (objects.get(metadata) || isDeleting(copy)) continue;
      const isOfHere = ownerOf(copy, { clusterUid, objectUid: undefined }) === "previous";
      const isSynced = coverageOf(metadata.namespace ?? "").coverage === "sync";
      if (isOfHere && isSynced) suspects.set(keyText(metadata), copy);
    }
    return suspects;
  }

  async #hasObject(copy: ProviderRecord, signal: AbortSignal): Promise<boolean> {
    const { consumer, type } = this.#sync;
    return await consumer.find(type, keyOf(copy), signal) !== undefined;
  }

  /** Reads the copy, to tell whether it is meant to outlive its object. */
  async #firstLook(key: string, copy: ProviderRecord, signal: AbortSignal): Promise<void> {
    const { provider, type, boundSince } = this.#sync;
    const live = await provider.find(type, keyOf(copy), signal);
    const { uid = "", annotations, creationTimestamp = "" } = live?.metadata ?? {};
    if (uid !== copy.metadata.uid) return;
    const isOrphan = annotations?.[ANNOTATIONS.deletionPolicy] === "Orphan";
    const isEarlier = !(Date.parse(creationTimestamp) >= Date.parse(boundSince()));
    const kind = isOrphan ? "orphan" : isEarlier ? "earlier" : "leftover";
    this.#looks.set(key, { uid, at: this.#now(), kind, isSure: isOrphan });
  }

  /** Deletes exactly this version of the copy: a new object may have adopted it meanwhile. */
  async #delete({ metadata }: ProviderRecord, signal: AbortSignal): Promise<boolean> {
    const { provider, type } = this.#sync;
    const { namespace, name, uid = "", resourceVersion = "" } = metadata;
    if (!isCertain(this.#sync) || !this.#rules.deletions.take()) return false;
    try {
      await provider.delete(type, { namespace, name }, { uid, resourceVersion }, signal);
      return true;
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) return false;
      throw error;
    }
  }
}

import type { Log } from "../../common/log/log.ts";
import { type ChildController, childController, isAbort } from "../../common/time/runnable.ts";
import type { RelatedSync } from "./related_sync.ts";
import type { RelatedKind } from "./rules_of.ts";

/** Why a kind is not copied. */
export interface RelatedFault {
  readonly message: string;
}

/** The state of one kind of a Connection. */
export interface RelatedState {
  /** Says which rules it works with, through which link. */
  readonly identity: string;
  readonly sync?: RelatedSync;
  /** Set if a right is missing. */
  readonly fault?: RelatedFault;
  /** Whether there is neither a rule nor a copy. */
  readonly isEmpty?: boolean;
}

interface Running {
  readonly connection: string;
  state: RelatedState;
  life?: ChildController | undefined;
}

/** Called when something changed. */
export interface RelatedReports {
  /** The copies or the problems of a Connection changed. */
  changed(connection: string): void;
  /** A Connection must be reconciled again after this time. */
  due(connection: string, ms: number): void;
}

/** The related copies of all Connections. */
export class Related implements Disposable {
  readonly #running = new Map<string, Running>();
  /** Connections of which nothing is copied for now. */
  readonly #stopped = new Set<string>();
  readonly #reports: RelatedReports;
  readonly #log: Log;

  constructor(reports: RelatedReports, log: Log) {
    this.#reports = reports;
    this.#log = log;
  }

  /** Returns the state of a kind; undefined if that is not known. */
  get(connection: string, kind: RelatedKind): RelatedState | undefined {
    const running = this.#running.get(keyOf(connection, kind));
    return running?.life?.signal.aborted ? undefined : running?.state;
  }

  /** Runs a sync until it is replaced or stopped, or the signal aborts. */
  start(
    connection: string,
    kind: RelatedKind,
    identity: string,
    sync: RelatedSync,
    parent: AbortSignal,
  ): void {
    const life = childController(parent);
    this.#set(connection, kind, { connection, state: { identity, sync }, life });
    sync.run(life.signal).catch((error) => {
      if (isAbort(life.signal, error)) return;
      this.#log.error("the sync of related objects ended", { connection, ...kind, error });
      this.#end(keyOf(connection, kind));
      this.#reports.due(connection, 1_000);
    });
  }

  /** Ends a sync, and remembers why nothing is copied. */
  rest(connection: string, kind: RelatedKind, state: RelatedState): void {
    this.#set(connection, kind, { connection, state });
  }

  /** Ends a sync whose rules have changed. */
  end(connection: string, kind: RelatedKind): void {
    this.#end(keyOf(connection, kind));
    this.#reports.changed(connection);
  }

  /** Ends all syncs of a Connection. */
  stop(connection: string): void {
    for (const [key, running] of [...this.#running]) {
      if (running.connection === connection) this.#end(key);
    }
    this.#stopped.add(connection);
    this.#reports.changed(connection);
  }

  /** Returns whether nothing of a Connection is copied for now. */
  isStopped(connection: string): boolean {
    return this.#stopped.has(connection);
  }

  /** Notes that copies or problems changed. */
  progressed(connection: string): void {
    this.#reports.changed(connection);
  }

  /** Has a Connection reconciled again after `ms`. */
  lookLater(connection: string, ms: number): void {
    this.#reports.due(connection, ms);
  }

  [Symbol.dispose](): void {
    for (const key of [...this.#running.keys()]) this.#end(key);
  }

  #set(connection: string, kind: RelatedKind, running: Running): void {
    const key = keyOf(connection, kind);
    this.#end(key);
    this.#stopped.delete(connection);
    this.#running.set(key, running);
    this.#reports.changed(connection);
  }

  #end(key: string): void {
    const life = this.#running.get(key)?.life;
    this.#running.delete(key);
    life?.abort(new Error("the sync of related objects was stopped"));
    life?.[Symbol.dispose]();
  }
}

const keyOf = (connection: string, { resource, direction }: RelatedKind): string =>
  `${connection} ${resource} ${direction}`;

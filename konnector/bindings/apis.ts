import {
  all,
  type ChildController,
  childController,
  isAbort,
  type Runnable,
} from "../../common/time/runnable.ts";
import type { Log } from "../../common/log/log.ts";
import type { SyncSummary } from "../../common/api/sync_summary.ts";
import type { ApiSync } from "../sync/api_sync.ts";
import { sumOf } from "../sync/sync_summary.ts";
import type { ApiCoverage } from "./coverage.ts";
import type { SchemaFault } from "./install_api.ts";
import type { Reach } from "./reach.ts";

/** How a bound API is doing. */
export interface ApiState {
  readonly coverage: ApiCoverage;
  /** `AsExpected` while it is synced, else why not. */
  readonly reason: string;
  readonly message: string;
  /** Whether the provider refuses a right. */
  readonly isDenied?: boolean;
  /** Whether the provider has no such API any more, and so no copies. */
  readonly isGone?: boolean;
  /** Why the CRD on the consumer differs from the provider's. */
  readonly schemaFault?: SchemaFault | undefined;
  readonly crdHash?: string;
  /** Hash of the provider's CRD. */
  readonly providerHash?: string;
  readonly reach?: Reach;
}

interface Running {
  /** Changes when it must be restarted. */
  readonly identity: string;
  /** Undefined if the API is paused, and something else runs meanwhile. */
  readonly sync?: ApiSync;
  readonly life: ChildController;
}

/** What runs while an API is synced. */
export interface Started {
  /** Changes when it must be restarted. */
  readonly identity: string;
  readonly sync: ApiSync;
  readonly beside: Runnable;
}

/** What runs while an API is paused. */
export interface Meanwhile {
  /** Changes when it must be restarted. */
  readonly identity: string;
  readonly run: Runnable;
}

/** Called when something changed. */
export interface ApisReports {
  /** The state of an API or the counts of its objects changed. */
  changed(api: string): void;
  /** The CRD of an API was checked, or its fault changed. */
  schemaChanged(connection: string): void;
  /** An API must be reconciled again after this time. */
  due(api: string, ms: number): void;
}

/** The state of an API whose CRD has not been read yet. */
const NOT_READ = { coverage: undefined, reason: "Pending", message: "Its CRD is being read" };

/** The bound APIs, their states and their running syncs. */
export class Apis implements Disposable {
  readonly #states = new Map<string, ApiState>();
  readonly #running = new Map<string, Running>();
  readonly #reports: ApisReports;
  readonly #log: Log;

  constructor(reports: ApisReports, log: Log) {
    this.#reports = reports;
    this.#log = log;
  }

  get(api: string): ApiState | undefined {
    return this.#states.get(api);
  }

  /** Returns the sync of an API that is running. */
  sync(api: string): ApiSync | undefined {
    return this.#running.get(api)?.sync;
  }

  /** Iterates over the running syncs. */
  *syncs(): Generator<readonly [api: string, sync: ApiSync]> {
    for (const [api, { sync }] of this.#running) if (sync) yield [api, sync];
  }

  /** Counts the objects of a Connection; undefined until all its APIs are known. */
  summaryOf(connection: string): SyncSummary | undefined {
    const summaries: SyncSummary[] = [];
    for (const [api, { coverage, reason }] of this.#states) {
      if (coverage.connection !== connection) continue;
      const sync = this.sync(api);
      if (reason === "Pending" || sync?.hasSynced === false) return undefined;
      if (sync) summaries.push(sync.summary);
    }
    return sumOf(summaries);
  }

  /** Gives a running sync of this identity its new state. Returns false if there is none. */
  adapt(api: string, identity: string, state: ApiState): boolean {
    if (!this.#runs(api, identity)) return false;
    const before = this.#states.get(api);
    this.#set(api, state);
    if (before?.coverage.text !== state.coverage.text) this.sync(api)?.lookAgain();
    if (before?.providerHash !== state.providerHash) this.sync(api)?.tryRefused();
    return true;
  }

  /** Gives an API its new coverage, and changes nothing else. */
  cover(api: string, coverage: ApiCoverage): void {
    const before = this.#states.get(api) ?? NOT_READ;
    if (before.coverage?.text === coverage.text) return;
    this.#set(api, { ...before, coverage });
    this.sync(api)?.lookAgain();
  }

  /** Runs a sync, and something beside it, until the API is paused or the signal aborts. */
  start(
    api: string,
    state: ApiState,
    { sync, beside, ...rest }: Started,
    parent: AbortSignal,
  ): void {
    this.#run(api, { sync, ...rest }, all(sync.run, beside), parent);
    this.#set(api, state);
  }

  /** Stops the sync of an API, remembers why, and may run something else meanwhile. */
  pause(api: string, state: ApiState, meanwhile?: Meanwhile): void {
    if (!meanwhile) this.#end(api);
    else if (!this.#runs(api, meanwhile.identity)) this.#run(api, meanwhile, meanwhile.run);
    this.#set(api, state);
  }

  /** Stops the sync of an API that no binding names. */
  stop(api: string): void {
    this.#end(api);
    const before = this.#states.get(api);
    if (!this.#states.delete(api)) return;
    this.#tellSchema(before, undefined);
    this.#reports.changed(api);
  }

  /** Notes that the counts of an API changed. */
  progressed(api: string): void {
    this.#reports.changed(api);
  }

  /** Has an API reconciled again after `ms`. */
  lookLater(api: string, ms: number): void {
    this.#reports.due(api, ms);
  }

  [Symbol.dispose](): void {
    for (const api of [...this.#running.keys()]) this.#end(api);
  }

  #runs(api: string, identity: string): boolean {
    const running = this.#running.get(api);
    return running?.identity === identity && !running.life.signal.aborted;
  }

  #run(
    api: string,
    { identity, sync }: Omit<Running, "life">,
    run: Runnable,
    ...parents: readonly AbortSignal[]
  ): void {
    this.#end(api);
    const life = childController(...parents);
    this.#running.set(api, { identity, ...(sync && { sync }), life });
    run(life.signal).catch((error) => {
      if (isAbort(life.signal, error)) return;
      this.#log.error("the sync of an API ended", { api, error });
      this.#end(api);
      this.lookLater(api, 1_000);
    });
  }

  #set(api: string, state: ApiState): void {
    const before = this.#states.get(api);
    this.#states.set(api, state);
    this.#tellSchema(before, state);
    this.#reports.changed(api);
  }

  #tellSchema(before: ApiState | undefined, after: ApiState | undefined): void {
    if (schemaText(before) === schemaText(after)) return;
    const connections = [before, after].map((state) => state?.coverage.connection);
    for (const connection of new Set(connections)) {
      if (connection !== undefined) this.#reports.schemaChanged(connection);
    }
  }

  #end(api: string): void {
    const running = this.#running.get(api);
    if (!running) return;
    this.#running.delete(api);
    running.life.abort(new Error("the sync was stopped"));
    running.life[Symbol.dispose]();
  }
}

/** A text that changes when a Connection must show something else about the CRD. */
const schemaText = (state: ApiState | undefined): string | undefined =>
  state && state.reason !== "Pending"
    ? `${state.coverage.connection} ${state.schemaFault?.message}`
    : undefined;

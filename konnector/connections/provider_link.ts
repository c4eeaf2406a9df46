import type { ConnectionSchema, CustomResourceDefinition } from "../../common/api/resources.ts";
import { KubeClient } from "../../common/kube/client.ts";
import { isForbidden, KubeError } from "../../common/kube/kube_error.ts";
import type { KubeTarget } from "../../common/kube/kube_target.ts";
import { type BeforeSend, Transport } from "../../common/kube/transport.ts";
import type { Log } from "../../common/log/log.ts";
import { Rate } from "../../common/time/rate.ts";
import { all, type ChildController, childController } from "../../common/time/runnable.ts";
import { Slots } from "../../common/time/slots.ts";
import { errorChain } from "../../common/errors.ts";
import { VERSION } from "../../common/version.ts";
import { reasonOf } from "../sync/refusals.ts";
import type { ApiDetails, ApiSource, ProviderApi, SourceReports } from "./api_source.ts";
import { AutoSource } from "./auto_source.ts";
import { clusterIdentity } from "./cluster_identity.ts";
import { CrdSource } from "./crd_source.ts";
import { beat, type Heartbeat, leaseKey } from "./heartbeat.ts";
import { OpenApiSource } from "./openapi_source.ts";
import { ProviderClock } from "./provider_clock.ts";
import { comparesVersions } from "./version_probe.ts";

/** Where a Connection wants definitions of APIs to be read from. */
export type SourceName = NonNullable<ConnectionSchema["source"]>;

/** What a link is opened with. */
export interface LinkOptions {
  /** The Connection. */
  readonly name: string;
  readonly target: KubeTarget;
  /** Changes when the kubeconfig or the source does. */
  readonly fingerprint: string;
  /** Where definitions of APIs are read from. */
  readonly source: SourceName;
  /** Identity of the consumer cluster. */
  readonly clusterUid: string;
  /** Checked before every write. */
  readonly beforeWrite: BeforeSend;
  readonly onAnswer: (method: string, status: number) => void;
  readonly log: Log;
  /** Returns what else the heartbeat says about this cluster. */
  readonly describe: Heartbeat["describe"];
  /** Called when the link or its rights changed, and when a CRD of the provider did. */
  readonly onChange: (crd?: string) => void;
  /** Called when the link fails. */
  readonly onFailure: () => void;
  /** Called when the provider's clock and ours differ, and with 0 when they agree again. */
  readonly onClock: (aheadMs: number) => void;
}

const MIB = 1024 * 1024;
const MAX_IN_FLIGHT = 32;
/** Limits the workers that wait for one provider, so that a silent one does not block others. */
const MOST_PULLS = 4;
/** Several times the largest object that Kubernetes stores. */
const MAX_ANSWER_BYTES = 8 * MIB;
/** Enough to list 500,000 objects at full speed. An endless stream then gets a part of a core. */
const PACE = { burst: 1024 * MIB, perSecond: 8 * MIB };

/** The way to one provider: client, APIs and heartbeat. A changed kubeconfig needs a new link. */
export class ProviderLink implements Disposable {
  readonly name: string;
  readonly fingerprint: string;
  readonly kube: KubeClient;
  /** The provider's namespace of this consumer; empty if the kubeconfig names none. */
  readonly boundary: string;
  /** Identity of the provider cluster. */
  readonly remoteUid: string;
  readonly heartbeat: Heartbeat;
  readonly #source: ApiSource;
  readonly #transport: Transport;
  readonly #life: ChildController;
  readonly #onChange: (crd?: string) => void;
  readonly #onFailure: () => void;
  readonly #onClock: (aheadMs: number) => void;
  readonly #clock: ProviderClock;
  #failure: unknown;
  #toldOfClock = false;
  #comparesVersions: boolean | undefined;
  #heartbeatDenied: string | undefined;
  #beatAtMs: number | undefined;
  readonly #pulls = new Slots(MOST_PULLS);

  private constructor(
    options: LinkOptions,
    transport: Transport,
    clock: ProviderClock,
    kube: KubeClient,
    remoteUid: string,
  ) {
    const { name, fingerprint, target, clusterUid, describe } = options;
    const { onChange, onFailure, onClock } = options;
    this.name = name;
    this.fingerprint = fingerprint;
    this.kube = kube;
    this.boundary = target.namespace ?? "";
    this.remoteUid = remoteUid;
    this.heartbeat = { connection: name, clusterUid, namespace: this.boundary, describe };
    this.#transport = transport;
    this.#life = childController();
    this.#onChange = onChange;
    this.#onFailure = onFailure;
    this.#onClock = onClock;
    this.#clock = clock;
    this.#source = sourceFor(options.source, kube, this.boundary, {
      changed: onChange,
      works: () => this.#report(undefined),
      failed: (error) => this.#report(error),
    });
  }

  /** Connects to a provider and reads its identity. Throws if the provider refuses or is away. */
  static async open(options: LinkOptions, signal: AbortSignal): Promise<ProviderLink> {
    const { target, beforeWrite, onAnswer } = options;
    const clock = new ProviderClock();
    const rate = new Rate(PACE);
    const transport = new Transport(target, {
      userAgent: `xbind-konnector/${VERSION}`,
      maxInFlight: MAX_IN_FLIGHT,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      pace: (bytes) => rate.spend("provider", bytes),
      onAnswer,
      onHead: ({ header }, begunAtMs) => clock.heard(header("date"), begunAtMs, Date.now()),
    });
    try {
      const kube = new KubeClient(transport, beforeWrite);
      const remoteUid = await clusterIdentity(kube, signal);
      return new ProviderLink(options, transport, clock, kube, remoteUid);
    } catch (error) {
      transport[Symbol.dispose]();
      throw error;
    }
  }

  /** Aborts when the link is closed. */
  get signal(): AbortSignal {
    return this.#life.signal;
  }

  /** Follows the provider's CRDs and sends heartbeats until the link is closed. */
  start(log: Log): void {
    // A watch that is open outlives its credential: at rest, only the heartbeat notices.
    const failed = (error: unknown) => {
      if (isCredentialRefused(error)) this.reject(error);
      if (isForbidden(error)) this.#allowHeartbeat(reasonOf(error));
    };
    const { kube, heartbeat } = this;
    if (this.boundary) this.#beatAtMs = Date.now();
    const arrived = async (signal: AbortSignal) => {
      this.#beatAtMs = Date.now();
      this.#tellOfClock();
      this.#allowHeartbeat(undefined);
      await this.#probe(log, signal);
    };
    const beats = beat({ kube, heartbeat, clock: this.#clock, log, arrived, failed });
    const run = all(
      (signal) => this.#source.run(signal),
      ...(this.boundary ? [beats] : []),
    );
    run(this.signal).catch((error) => this.#report(error));
  }

  /** Whether the provider's APIs are known. */
  get hasSynced(): boolean {
    return this.#source.hasSynced;
  }

  /** Where definitions of APIs are read from now. */
  get activeSource(): "CRD" | "OpenAPI" {
    return this.#source.active;
  }

  /** Returns the provider's time. */
  now(): Date {
    return this.#clock.now();
  }

  /** Reserves one of the few simultaneous pulls of CRDs; undefined if all are in use. */
  reservePull(): Disposable | undefined {
    return this.#pulls.tryEnter("all");
  }

  /** Why the provider cannot be used now; undefined if it can. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * When a heartbeat last arrived, in milliseconds since 1970. Before the first one, when the link
   * was started; undefined if it sends none.
   */
  get beatAtMs(): number | undefined {
    return this.#beatAtMs;
  }

  /** For how long the provider has been away; undefined if it is not. */
  awayMs(): number | undefined {
    return this.#source.awayMs();
  }

  /** Why the provider forbids the heartbeat; undefined if it does not. */
  get heartbeatDenied(): string | undefined {
    return this.#heartbeatDenied;
  }

  /** Whether an apply with a version that no object has is known to create only. */
  get comparesVersions(): boolean {
    return this.#comparesVersions === true;
  }

  /** Notes that the provider refused the credential. */
  reject(error: unknown): void {
    this.#report(error);
  }

  /** Lists the APIs that the provider exports, sorted by name. */
  exported(): ProviderApi[] {
    return this.#source.list().filter(({ isExported }) => isExported)
      .sort((a, b) => a.name < b.name ? -1 : 1);
  }

  /** Returns an API of the provider, exported or not. */
  api(name: string): ProviderApi | undefined {
    return this.#source.find(name);
  }

  /** Returns scope and served versions of an API. */
  async describe(name: string, signal: AbortSignal): Promise<ApiDetails | undefined> {
    return await this.#source.describe(name, signal);
  }

  /** Reads the definition of an API. Throws a `CrdRefusedError` if it cannot be used. */
  async readCrd(name: string, signal: AbortSignal): Promise<CustomResourceDefinition | undefined> {
    return await this.#source.readCrd(name, signal);
  }

  [Symbol.dispose](): void {
    this.#life.abort(new Error("the link is closed"));
    this.#transport[Symbol.dispose]();
  }

  /** Finds out once what the provider does with versions. Needs a Lease that exists. */
  async #probe(log: Log, signal: AbortSignal): Promise<void> {
    if (this.#comparesVersions !== undefined) return;
    try {
      this.#comparesVersions = await comparesVersions(this.kube, leaseKey(this.heartbeat), signal);
    } catch (error) {
      return log.debug("cannot probe the provider", { error: errorChain(error) });
    }
    if (this.#comparesVersions) return;
    const { name } = this;
    log.warn("the provider ignores versions: it is asked before each new copy", {
      connection: name,
    });
  }

  /** Notes whether the provider allows the heartbeat. */
  #allowHeartbeat(denial: string | undefined): void {
    if (this.#heartbeatDenied === denial || this.signal.aborted) return;
    this.#heartbeatDenied = denial;
    this.#onChange();
  }

  /** Reports once that the clocks differ, and once that they agree again. */
  #tellOfClock(): void {
    const { aheadMs } = this.#clock;
    if ((aheadMs !== 0) === this.#toldOfClock) return;
    this.#toldOfClock = aheadMs !== 0;
    this.#onClock(aheadMs);
  }

  #report(error: unknown): void {
    if (this.signal.aborted) return;
    this.#failure = error;
    if (error === undefined) this.#onChange();
    else this.#onFailure();
  }
}

/** Returns whether the provider refused the credential. */
export const isCredentialRefused = (error: unknown): boolean =>
  error instanceof KubeError && error.status === 401;

function sourceFor(
  name: SourceName,
  kube: KubeClient,
  boundary: string,
  reports: SourceReports,
): ApiSource {
  switch (name) {
    case "Auto":
      return new AutoSource(kube, boundary, reports);
    case "CRD":
      return new CrdSource(kube, reports);
    case "OpenAPI":
      return new OpenApiSource(kube, boundary, reports);
  }
}

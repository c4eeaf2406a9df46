import { LABELS } from "../../common/api/names.ts";
import { CRDS, type CustomResourceDefinition, isDeleting } from "../../common/api/resources.ts";
import { Cache } from "../../common/kube/cache.ts";
import { KubeClient } from "../../common/kube/client.ts";
import { metadataObjects } from "../../common/kube/follow.ts";
import { isForbidden, KubeError } from "../../common/kube/kube_error.ts";
import type { KubeTarget } from "../../common/kube/kube_target.ts";
import type { MetadataObject } from "../../common/kube/metadata.ts";
import { type BeforeSend, Transport } from "../../common/kube/transport.ts";
import type { Log } from "../../common/log/log.ts";
import { all, type ChildController, childController } from "../../common/time/runnable.ts";
import { errorChain } from "../../common/errors.ts";
import { VERSION } from "../../common/version.ts";
import { reasonOf } from "../sync/refusals.ts";
import { clusterIdentity } from "./cluster_identity.ts";
import { beat, type Heartbeat, leaseKey } from "./heartbeat.ts";
import { ProviderClock } from "./provider_clock.ts";
import { comparesVersions } from "./version_probe.ts";

/** What a link is opened with. */
export interface LinkOptions {
  /** The Connection. */
  readonly name: string;
  readonly target: KubeTarget;
  /** Changes when the kubeconfig does. */
  readonly fingerprint: string;
  /** Identity of the consumer cluster. */
  readonly clusterUid: string;
  /** Checked before every write. */
  readonly beforeWrite: BeforeSend;
  readonly onAnswer: (method: string, status: number) => void;
  readonly log: Log;
  /** Returns what else the heartbeat tells about this cluster. */
  readonly describe: Heartbeat["describe"];
  /** Called when the link or its rights changed, and when a CRD of the provider did. */
  readonly onChange: (crd?: string) => void;
  /** Called when the link fails. */
  readonly onFailure: () => void;
  /** Called when the provider's clock and ours begin to differ, and with 0 when they agree again. */
  readonly onClock: (aheadMs: number) => void;
}

/** An API that the provider has. */
export interface ProviderApi {
  readonly name: string;
  readonly isExported: boolean;
  readonly generation: number;
}

/** What a Connection shows of an exported API. */
export interface ApiDetails {
  readonly scope: "Cluster" | "Namespaced";
  readonly versions: string[];
}

const MAX_IN_FLIGHT = 32;

/** The way to one provider: client, CRDs and heartbeat. A changed kubeconfig needs a new link. */
export class ProviderLink implements Disposable {
  readonly name: string;
  readonly fingerprint: string;
  readonly kube: KubeClient;
  /** The provider's namespace of this consumer; empty if the kubeconfig names none. */
  readonly boundary: string;
  /** Identity of the provider cluster. */
  readonly remoteUid: string;
  readonly heartbeat: Heartbeat;
  readonly crds: Cache<MetadataObject>;
  readonly #transport: Transport;
  readonly #life: ChildController;
  readonly #onChange: (crd?: string) => void;
  readonly #onFailure: () => void;
  readonly #onClock: (aheadMs: number) => void;
  readonly #clock: ProviderClock;
  readonly #details = new Map<string, { readonly version: string; readonly details: ApiDetails }>();
  #failure: unknown;
  #toldOfClock = false;
  #comparesVersions: boolean | undefined;
  #heartbeatDenied: string | undefined;

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
    this.crds = new Cache(metadataObjects(CRDS), {
      reports: {
        connected: () => this.#report(undefined),
        disconnected: (error) => this.#report(error),
      },
    });
    this.crds.onChange(({ before, after }) => onChange((after ?? before)?.metadata.name));
  }

  /** Connects to a provider and reads its identity. Throws if the provider refuses or is away. */
  static async open(options: LinkOptions, signal: AbortSignal): Promise<ProviderLink> {
    const { target, beforeWrite, onAnswer } = options;
    const clock = new ProviderClock();
    const transport = new Transport(target, {
      userAgent: `xbind-konnector/${VERSION}`,
      maxInFlight: MAX_IN_FLIGHT,
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
    const arrived = async (signal: AbortSignal) => {
      this.#tellOfClock();
      this.#allowHeartbeat(undefined);
      await this.#probe(log, signal);
    };
    const beats = beat({ kube, heartbeat, clock: this.#clock, log, arrived, failed });
    const run = all(
      (signal) => this.crds.run(this.kube, signal),
      ...(this.boundary ? [beats] : []),
    );
    run(this.signal).catch((error) => this.#report(error));
  }

  /** Whether the provider's APIs are known. */
  get hasSynced(): boolean {
    return this.crds.hasSynced;
  }

  /** Why the provider cannot be used at present; undefined if it can. */
  get failure(): unknown {
    return this.#failure;
  }

  /** For how long the provider has been away; undefined if it is not. */
  awayMs(): number | undefined {
    return this.crds.brokenForMs();
  }

  /** Why the provider forbids the heartbeat; undefined if it does not. */
  get heartbeatDenied(): string | undefined {
    return this.#heartbeatDenied;
  }

  /** Whether an apply with a version that no object has is known to create only. */
  get comparesVersions(): boolean {
    return this.#comparesVersions === true;
  }

  /** Takes note that the provider refused the credential. */
  reject(error: unknown): void {
    this.#report(error);
  }

  /** Lists the APIs that the provider exports, sorted by name. */
  exported(): ProviderApi[] {
    return [...this.crds.values()].map(apiOf).filter(({ isExported }) => isExported)
      .sort((a, b) => a.name < b.name ? -1 : 1);
  }

  /** Returns an API of the provider, exported or not. */
  api(name: string): ProviderApi | undefined {
    const crd = this.crds.get({ name });
    return crd && !isDeleting(crd) ? apiOf(crd) : undefined;
  }

  /** Returns scope and served versions of an API. Reads its CRD again if that changed. */
  async describe(name: string, signal: AbortSignal): Promise<ApiDetails | undefined> {
    const { uid, generation } = this.crds.get({ name })?.metadata ?? {};
    const version = `${uid} ${generation}`;
    const known = this.#details.get(name);
    if (known?.version === version) return known.details;
    const crd = await this.readCrd(name, signal);
    if (!crd) return undefined;
    const served = crd.spec.versions.filter((each) => each.served).map((each) => each.name);
    const details = { scope: crd.spec.scope as ApiDetails["scope"], versions: served };
    this.#details.set(name, { version, details });
    return details;
  }

  /** Reads a CRD of the provider. */
  async readCrd(name: string, signal: AbortSignal): Promise<CustomResourceDefinition | undefined> {
    return await this.kube.find(CRDS, { name }, signal);
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

  /** Takes note of whether the provider allows the heartbeat. */
  #allowHeartbeat(denial: string | undefined): void {
    if (this.#heartbeatDenied === denial || this.signal.aborted) return;
    this.#heartbeatDenied = denial;
    this.#onChange();
  }

  /** Tells once that the clocks differ, and once that they agree again. */
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

/** Tells whether the provider refused the credential. */
export const isCredentialRefused = (error: unknown): boolean =>
  error instanceof KubeError && error.status === 401;

const apiOf = (crd: MetadataObject): ProviderApi => ({
  name: crd.metadata.name,
  isExported: crd.metadata.labels?.[LABELS.exported] === "true" && !isDeleting(crd),
  generation: crd.metadata.generation ?? 0,
});

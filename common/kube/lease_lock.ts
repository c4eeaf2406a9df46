import { type Lease, LEASES } from "../api/resources.ts";
import { FIELD_MANAGERS } from "../api/names.ts";
import { microTime } from "../api/times.ts";
import type { KubeClient } from "./client.ts";
import { isAlreadyExists, isConflict } from "./kube_error.ts";
import type { ObjectKey } from "./paths.ts";

/** Dependencies of a lock. */
export interface LeaseLockOptions {
  readonly kube: KubeClient;
  readonly name: string;
  readonly namespace: string;
  /** The identity of this process; unique to it. */
  readonly identity: string;
  readonly leaseMs: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** The Lease as we wrote it, and the time just before that write. */
export interface Hold {
  readonly lease: Lease;
  readonly since: number;
}

/** Another process holds the Lease. */
export interface Busy {
  readonly holder: string;
  /** The time until it counts as abandoned, if it is not renewed. */
  readonly restMs: number;
}

const MANAGER = FIELD_MANAGERS.leader;

/**
 * A `coordination.k8s.io` Lease as a lock. Every write is a compare-and-swap. Another holder counts
 * as dead once we have seen its Lease unchanged for long enough. Its clock does not count.
 */
export class LeaseLock {
  readonly #options: LeaseLockOptions;
  readonly #key: ObjectKey;
  #record: string | undefined;
  #changedAt = 0;
  #holder = "";
  #heldForMs = 0;

  constructor(options: LeaseLockOptions) {
    this.#options = options;
    this.#key = { name: options.name, namespace: options.namespace };
  }

  /** Reads the Lease, and takes it if it is free, abandoned or ours. */
  async tryTake(signal: AbortSignal): Promise<Hold | Busy> {
    const lease = await this.#read(signal);
    const restMs = this.#observe(lease);
    if (restMs > 0) return { holder: this.#holder, restMs };
    try {
      return await this.#write(lease, signal);
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error)) throw error;
      return { holder: "", restMs: 0 }; // another process was faster; the next read shows its name
    }
  }

  /** Renews the Lease at the version that we know. */
  async renew(known: Lease, signal: AbortSignal): Promise<Hold> {
    return await this.#write(known, signal);
  }

  /** Renews after a failure, at the current version. Returns undefined if it is no longer ours. */
  async recover(signal: AbortSignal): Promise<Hold | undefined> {
    const lease = await this.#read(signal);
    if (lease && holderOf(lease) !== this.#options.identity) return undefined;
    return await this.#write(lease, signal);
  }

  /** Clears the Lease, so that others need not wait for its expiry. */
  async release(known: Lease, signal: AbortSignal): Promise<void> {
    try {
      await this.#empty(known, signal);
    } catch (error) {
      if (!isConflict(error)) throw error;
      const lease = await this.#read(signal);
      if (lease && holderOf(lease) === this.#options.identity) await this.#empty(lease, signal);
    }
  }

  /** Returns how long the hold of another process still counts, by our own observation. */
  #observe(lease: Lease | undefined): number {
    const now = this.#options.now();
    const record = JSON.stringify([lease?.metadata.uid, lease?.spec]);
    if (record !== this.#record) {
      this.#record = record;
      this.#changedAt = now;
    }
    // Deleting a Lease does not stop its holder: respect the last term that we saw.
    if (lease) {
      this.#holder = holderOf(lease);
      const isFree = this.#holder === "" || this.#holder === this.#options.identity;
      this.#heldForMs = isFree ? 0 : this.#promisedMs(lease);
    }
    return Math.max(0, this.#changedAt + this.#heldForMs - now);
  }

  #promisedMs({ spec }: Lease): number {
    const seconds = spec?.leaseDurationSeconds ?? 0;
    return seconds > 0 ? seconds * 1000 : this.#options.leaseMs;
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    return await this.#options.kube.find(LEASES, this.#key, signal);
  }

  async #write(before: Lease | undefined, signal: AbortSignal): Promise<Hold> {
    const { kube, identity, leaseMs, now } = this.#options;
    const wasOurs = before !== undefined && holderOf(before) === identity;
    // For people who read the Lease. No decision depends on it.
    const time = microTime(new Date());
    const spec = {
      ...before?.spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseMs / 1000),
      acquireTime: (wasOurs ? before.spec?.acquireTime : undefined) ?? time,
      renewTime: time,
      leaseTransitions: transitionsOf(before) + (before && !wasOurs ? 1 : 0),
    };
    const since = now();
    const lease = before
      ? await kube.update(LEASES, { ...before, spec }, MANAGER, signal)
      : await kube.create(LEASES, this.#newLease(spec), MANAGER, signal);
    return { lease, since };
  }

  async #empty(lease: Lease, signal: AbortSignal): Promise<void> {
    const spec = {
      ...lease.spec,
      holderIdentity: "",
      leaseDurationSeconds: 1,
      renewTime: microTime(new Date()),
    };
    await this.#options.kube.update(LEASES, { ...lease, spec }, MANAGER, signal);
  }

  #newLease(spec: Lease["spec"] & object): Lease {
    const { name, namespace } = this.#options;
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, namespace },
      spec,
    };
  }
}

const holderOf = ({ spec }: Lease): string => spec?.holderIdentity ?? "";

const transitionsOf = (lease: Lease | undefined): number => lease?.spec?.leaseTransitions ?? 0;

import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { type Lease, LEASES } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { Leader, type LeaderOptions, type LeaderTiming } from "../../../common/kube/leader.ts";
import { createLogger } from "../../../common/log/log.ts";
import { aborted, type Runnable } from "../../../common/time/runnable.ts";

/** An election in seconds instead of a quarter of a minute, in about the same proportions. */
export const LEADER_TIMING: LeaderTiming = {
  leaseMs: 3_000,
  renewDeadlineMs: 2_000,
  retryMs: 200,
  stopMs: 1_000,
};

/** The Lease of all candidates in a namespace. */
export const leaderLease = (kube: KubeClient, namespace: string): Promise<Lease> =>
  kube.get(LEASES, { name: "leader", namespace });

/** One process of an election: what it did, and when. */
export class Candidate implements AsyncDisposable {
  readonly leader: Leader;
  readonly changes: boolean[] = [];
  readonly startedAt: number[] = [];
  readonly stoppedAt: number[] = [];
  /** Messages of the log. */
  readonly said: string[] = [];
  readonly running: Promise<void>;
  readonly #stop = new AbortController();

  /** Campaigns at once; without `run` it just leads until it is stopped. */
  constructor(options: Omit<LeaderOptions, "log" | "name">, run: Runnable = aborted) {
    this.leader = new Leader({
      name: "leader",
      timing: LEADER_TIMING,
      onChange: (isLeading) => this.changes.push(isLeading),
      log: createLogger({
        encoder: "json",
        level: "info",
        stacktraceLevel: "panic",
        timeEncoding: "epoch",
        write: (line) => this.said.push(JSON.parse(line).msg),
      }),
      ...options,
    });
    this.running = this.leader.whileLeading(async (signal) => {
      this.startedAt.push(performance.now());
      try {
        await run(signal);
      } finally {
        this.stoppedAt.push(performance.now());
      }
    })(this.#stop.signal);
    this.running.catch(() => {}); // tests look at it later, if at all
  }

  get isRunning(): boolean {
    return this.startedAt.length > this.stoppedAt.length;
  }

  /** Resolves when it has begun to run so many times. */
  async runs(times = 1): Promise<void> {
    await eventually("the candidate leads", () => this.startedAt.length >= times);
  }

  stop(): Promise<void> {
    this.#stop.abort(new Error("shutdown"));
    return this.running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop().catch(() => {});
  }
}

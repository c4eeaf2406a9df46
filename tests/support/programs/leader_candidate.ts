import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { type Lease, LEASES } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { Leader, type LeaderOptions, type LeaderTiming } from "../../../common/kube/leader.ts";
import { createLogger } from "../../../common/log/log.ts";
import { aborted, type Runnable } from "../../../common/time/runnable.ts";

/** The default timings of an election, scaled down to seconds. */
export const LEADER_TIMING: LeaderTiming = {
  leaseMs: 3_000,
  renewDeadlineMs: 2_000,
  retryMs: 200,
  stopMs: 1_000,
};

/** The Lease of all candidates in a namespace. */
export const leaderLease = (kube: KubeClient, namespace: string): Promise<Lease> =>
  kube.get(LEASES, { name: "leader", namespace });

/** A candidate of an election, which records when it led. */
export class Candidate implements AsyncDisposable {
  readonly leader: Leader;
  readonly changes: boolean[] = [];
  readonly startedAt: number[] = [];
  readonly stoppedAt: number[] = [];
  /** The messages in the log. */
  readonly said: string[] = [];
  readonly running: Promise<void>;
  readonly #stop = new AbortController();

  /** Campaigns at once. Without `run`, it only leads until it is stopped. */
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
    this.running.catch(() => {}); // tests may await it later
  }

  get isRunning(): boolean {
    return this.startedAt.length > this.stoppedAt.length;
  }

  /** Waits until it has started to lead this many times. */
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

import assert from "node:assert/strict";
import { type AuditEvent, auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import { eventually, type Patience } from "../../../scripts/controlplane/eventually.ts";
import { NAMESPACES } from "../../../common/api/resources.ts";
import { Backend } from "../programs/backend.ts";
import type { DaemonOptions } from "../programs/daemon.ts";
import { FaultProxy } from "../faults/fault_proxy.ts";
import { IssuerWorld } from "./issuer_world.ts";

const LEASE = "backend.xbind.io";

/** One of several backends of a provider, with its own user name. */
export class Replica implements AsyncDisposable {
  readonly user: string;
  readonly backend: Backend;
  /** The proxy for all its requests. */
  readonly proxy: FaultProxy;

  private constructor(user: string, backend: Backend, proxy: FaultProxy) {
    this.user = user;
    this.backend = backend;
    this.proxy = proxy;
  }

  static async start(
    { plane }: IssuerWorld,
    user: string,
    options: Pick<DaemonOptions, "denoFlags"> = {},
  ): Promise<Replica> {
    const identity = await plane.userCertificate(user, ["system:masters"]);
    const proxy = await FaultProxy.start(plane, { identity });
    const backend = await Backend.start(plane, {
      flags: ["--enable-gateway=false", "--leader-elect"],
      kubeconfig: await proxy.kubeconfig(),
      ...options,
    });
    return new Replica(user, backend, proxy);
  }

  /** Reads its leader metric: 1 for the leader, 0 for a standby. */
  async masterStatus(): Promise<number> {
    const text = await this.backend.metrics();
    const [, value] = new RegExp(`^leader_election_master_status\\{name="${LEASE}"\\} (\\d)$`, "m")
      .exec(text) ?? assert.fail(`no leader_election_master_status in ${text}`);
    return Number(value);
  }

  /** Waits until its metric says that it leads. */
  async leads(patience: Patience = {}): Promise<void> {
    const leads = async () => await this.masterStatus() === 1;
    await eventually(`${this.user} leads`, leads, patience);
  }

  /** Waits until it has become a standby this many times, by its log and its metric. */
  async standsBy(times = 1): Promise<void> {
    await eventually(`${this.user} stands by`, async () => {
      const said = this.backend.log.filter(({ msg }) => msg === "standing by").length;
      return said >= times && await this.masterStatus() === 0;
    });
  }

  /** Reads its readiness probe. */
  async readiness(): Promise<string> {
    const answer = await fetch(`${await this.backend.addressOf("/readyz")}/readyz`);
    return `${answer.status} ${await answer.text()}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.backend[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
  }
}

/** Returns all writes of a replica that have reached the API server, in order. */
export async function writesBy(
  { plane, kube }: IssuerWorld,
  { user }: Replica,
): Promise<AuditEvent[]> {
  const marker = `marker-${crypto.randomUUID()}`;
  await kube.find(NAMESPACES, { name: marker });
  return await eventually("the audit log is complete", async () => {
    const events = await auditEvents(plane, ({ stage }) => stage === "ResponseComplete");
    return events.some(({ objectRef }) => objectRef?.name === marker) &&
      events.filter((event) => event.user.username === user && isWrite(event));
  });
}

/** Reviews do not count: they are created but change nothing. */
const isWrite = ({ verb, objectRef }: AuditEvent): boolean =>
  ["create", "update", "patch", "delete"].includes(verb) &&
  !objectRef?.resource?.endsWith("reviews");

/** Returns whether a write changed the leader's Lease. */
export const isElection = ({ objectRef }: AuditEvent): boolean =>
  objectRef?.resource === "leases" && objectRef.name === LEASE;

/** Returns whether a write succeeded. */
export const isDone = ({ responseStatus }: AuditEvent): boolean =>
  (responseStatus?.code ?? 500) < 300;

/** Returns the API server's time of the first Lease write after a moment. */
export function acquiredAfter(writes: readonly AuditEvent[], moment: string): string {
  const taken = writes.find((event) =>
    isElection(event) && isDone(event) && event.requestReceivedTimestamp > moment
  );
  return taken?.requestReceivedTimestamp ?? assert.fail("the Lease was not acquired");
}

import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type Grant,
  GRANTS,
  isDeleting,
  type KubeObject,
  LEASES,
  NAMESPACES,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../../common/api/resources.ts";
import { KubeError } from "../../../common/kube/kube_error.ts";
import { keyText } from "../../../common/kube/paths.ts";
import { ANNOTATIONS, identityHash, LABELS } from "../../../common/api/names.ts";
import { Backend } from "../programs/backend.ts";
import { FaultProxy } from "../faults/fault_proxy.ts";
import { boundaryOf, customType, issuedKeys, WIDGETS } from "../planes/issuer_samples.ts";
import { IssuerWorld } from "./issuer_world.ts";
import { type KillPoint, pointText, type Write, WriteGate } from "../faults/write_gate.ts";

const ISSUED_TYPES = [
  SERVICE_ACCOUNTS,
  SECRETS,
  ROLES,
  ROLE_BINDINGS,
  CLUSTER_ROLES,
  CLUSTER_ROLE_BINDINGS,
];

/** A provider whose successive backends run behind a gate that can kill them. */
export class CrashWorld implements AsyncDisposable {
  readonly provider: IssuerWorld;
  readonly proxy: FaultProxy;
  readonly gate = new WriteGate();
  /** Finalizers that were removed too early. */
  readonly violations: string[] = [];
  readonly #flags: readonly string[];
  #backend: Backend | undefined;

  private constructor(provider: IssuerWorld, proxy: FaultProxy, flags: readonly string[]) {
    this.provider = provider;
    this.proxy = proxy;
    this.#flags = flags;
    this.gate.inspect = (write) => this.#inspect(write);
    proxy.faults = this.gate.faults;
  }

  /** Starts the provider, and the first backend with these flags. */
  static async start(...flags: string[]): Promise<CrashWorld> {
    const provider = await IssuerWorld.start();
    await provider.stop();
    const identity = await provider.plane.userCertificate("crashing", ["system:masters"]);
    const proxy = await FaultProxy.start(provider.plane, { identity });
    const world = new CrashWorld(provider, proxy, flags);
    await world.succeed();
    return world;
  }

  get backend(): Backend {
    return this.#backend ?? assert.fail("no backend runs");
  }

  /** Starts a backend after the last one was killed, and opens the gate. */
  async succeed(): Promise<void> {
    await this.#backend?.[Symbol.asyncDispose]();
    this.gate.open();
    this.#backend = await Backend.start(this.provider.plane, {
      flags: ["--enable-gateway=false", ...this.#flags],
      kubeconfig: await this.proxy.kubeconfig(),
    });
    await this.#backend.logged("issuing");
  }

  /** Runs a step during which the backend is killed. */
  async killedAt<T>(point: KillPoint, happen: () => Promise<T>): Promise<T> {
    const { backend, gate } = this;
    gate.ambush(point, () => backend.signal("SIGKILL"));
    const happened = await happen();
    await eventually(`the backend is killed ${pointText(point)}`, () => gate.isShut);
    assert.equal(await backend.ended(), 137);
    return happened;
  }

  /** Returns the writes of a step, once they have settled. */
  async writesOf(happen: () => Promise<unknown>): Promise<string[]> {
    await this.gate.settled();
    this.gate.passed.length = 0;
    this.gate.conflicts.length = 0;
    await happen();
    await this.gate.settled();
    return [...this.gate.passed];
  }

  /** Waits until a Grant is Ready, and asserts that exactly its objects exist and work. */
  async provisioned(grant: Grant): Promise<void> {
    await this.provider.ready(grant);
    const expected = issuedKeys(grant).filter(([type]) => type !== NAMESPACES)
      .map(([type, key]) => `${type.plural} ${keyText(key)}`);
    assert.deepEqual(names(await this.belongings(grant)), expected.sort());
    const boundary = await this.provider.kube.get(NAMESPACES, { name: boundaryOf(grant) });
    assert.deepEqual(boundary.metadata.labels, {
      [LABELS.managed]: "true",
      [LABELS.identity]: identityHash(grant.spec.identity.subject),
      "kubernetes.io/metadata.name": boundaryOf(grant),
    });
    using consumer = await this.provider.issued(grant);
    await eventually("the token works", async () => {
      await consumer.kube.list(customType(WIDGETS));
      await consumer.kube.list(LEASES, { namespace: boundaryOf(grant) });
      return true;
    });
  }

  /** Returns the versions of all objects of a Grant. */
  async versionsOf(grant: Grant): Promise<string[]> {
    const objects = await this.belongings(grant);
    return objects.map(([plural, { metadata }]) =>
      `${plural} ${keyText(metadata)} ${metadata.uid} ${metadata.resourceVersion}`
    ).sort();
  }

  /** Waits until a Grant is deleted, and asserts that none of its objects is left. */
  async revoked(grant: Grant): Promise<void> {
    const { name } = grant.metadata;
    await eventually(
      `Grant ${name} is gone`,
      async () => !await this.provider.kube.find(GRANTS, { name }),
    );
    assert.deepEqual(names(await this.belongings(grant)), []);
  }

  /** Writes one heartbeat for a Grant, as its consumer does. */
  async beat(grant: Grant): Promise<void> {
    await this.provider.beat(grant);
  }

  /** Returns all objects of a Grant in all namespaces, with its heartbeats. */
  async belongings(grant: Grant): Promise<[string, KubeObject][]> {
    const { name } = grant.metadata;
    const labelSelector = `${LABELS.grant}=${name}`;
    const found: [string, KubeObject][] = [];
    for (const type of ISSUED_TYPES) {
      for (const object of await this.provider.kube.list<KubeObject>(type, { labelSelector })) {
        found.push([type.plural, object]);
      }
    }
    for (const lease of await this.provider.kube.list(LEASES)) {
      if (lease.metadata.annotations?.[ANNOTATIONS.connection] !== name) continue;
      found.push([LEASES.plural, lease]);
    }
    return found;
  }

  /** Records a violation if the finalizer is removed while objects are left. */
  async #inspect({ what, name }: Write): Promise<void> {
    if (what !== "patch grants") return;
    const grant = await this.provider.kube.find(GRANTS, { name });
    if (!grant || !isDeleting(grant)) return;
    const left = names(await this.belongings(grant));
    if (left.length > 0) this.violations.push(`${name} lost its finalizer before ${left.join()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#backend?.[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
    await this.provider[Symbol.asyncDispose]();
  }
}

const names = (objects: readonly [string, KubeObject][]): string[] =>
  objects.map(([plural, { metadata }]) => `${plural} ${keyText(metadata)}`).sort();

/** Returns whether a call was refused because the rights or the account were deleted. */
export const isRefused = (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => false,
    (error) => error instanceof KubeError && [401, 403].includes(error.status),
  );

import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import type { DaemonOptions } from "../programs/daemon.ts";
import { FaultProxy } from "../faults/fault_proxy.ts";
import { Gateway } from "./gateway_world.ts";

/** A gateway process and its successors, whose requests all pass a fault proxy. */
export class GatewayBehindProxy implements AsyncDisposable {
  readonly plane: ControlPlane;
  /** The gateway's user in the audit log. */
  readonly user: string;
  readonly proxy: FaultProxy;
  readonly #options: DaemonOptions;
  #gateway: Gateway | undefined;

  private constructor(
    plane: ControlPlane,
    user: string,
    proxy: FaultProxy,
    options: DaemonOptions,
  ) {
    this.plane = plane;
    this.user = user;
    this.proxy = proxy;
    this.#options = options;
  }

  /** Starts one with the mock identity provider. Its bundles point to the API server itself. */
  static async start(
    plane: ControlPlane,
    user: string,
    options: DaemonOptions = {},
  ): Promise<GatewayBehindProxy> {
    const identity = await plane.userCertificate(user, ["system:masters"]);
    const proxy = await FaultProxy.start(plane, { identity });
    const site = new GatewayBehindProxy(plane, user, proxy, options);
    try {
      await site.succeed();
    } catch (error) {
      await proxy[Symbol.asyncDispose]();
      throw error;
    }
    return site;
  }

  /** The running process. There is none between a kill and the next start. */
  get gateway(): Gateway {
    return this.#gateway ?? assert.fail("no gateway runs");
  }

  /** Kills the process. */
  async kill(): Promise<void> {
    const { gateway } = this;
    this.#gateway = undefined;
    await gateway[Symbol.asyncDispose]();
  }

  /** Starts a new process after a kill. */
  async succeed(): Promise<void> {
    assert.equal(this.#gateway, undefined, "a gateway runs");
    this.#gateway = await Gateway.start(this.plane, {
      ...this.#options,
      flags: [`--external-address=${this.plane.server}`, ...this.#options.flags ?? []],
      kubeconfig: await this.proxy.kubeconfig(),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gateway?.[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
  }
}

import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import type { BackendOptions } from "../programs/backend.ts";
import { FaultProxy } from "../faults/fault_proxy.ts";
import { Gateway } from "./gateway_world.ts";

/** A gateway process, and after its end another one, all of whose requests a fault proxy sees. */
export class GatewayBehindProxy implements AsyncDisposable {
  readonly plane: ControlPlane;
  /** Who the API server's audit log says it is. */
  readonly user: string;
  readonly proxy: FaultProxy;
  readonly #options: BackendOptions;
  #gateway: Gateway | undefined;

  private constructor(
    plane: ControlPlane,
    user: string,
    proxy: FaultProxy,
    options: BackendOptions,
  ) {
    this.plane = plane;
    this.user = user;
    this.proxy = proxy;
    this.#options = options;
  }

  /** Starts one with the mock issuer; its bundles lead to the API server itself. */
  static async start(
    plane: ControlPlane,
    user: string,
    options: BackendOptions = {},
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

  /** The process that runs; for a moment after a kill there is none. */
  get gateway(): Gateway {
    return this.#gateway ?? assert.fail("no gateway runs");
  }

  /** Ends the process without warning. */
  async kill(): Promise<void> {
    const { gateway } = this;
    this.#gateway = undefined;
    await gateway[Symbol.asyncDispose]();
  }

  /** Starts another in the place of the one that was killed. */
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

import assert from "node:assert/strict";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { KubeObject } from "../../../common/api/resources.ts";
import type { BindResult } from "../../../common/api/wire.ts";
import { GatewayBehindProxy } from "./gateway_behind_proxy.ts";
import { customType, WIDGETS } from "../planes/issuer_samples.ts";
import { IssuerWorld } from "./issuer_world.ts";
import { type SealedSessions, sealedSessions } from "../planes/sealed_sessions.ts";
import { objectsIn, TestKonnector } from "./test_konnector.ts";

/** The Export that all users bind. */
const EXPORT = "widgets";

/** The answer of a pickup. Status 0 means no answer. */
export interface PickupAnswer {
  readonly status: number;
  readonly bundle?: readonly KubeObject[];
}

/** Two gateways with the same keys, each behind its own proxy, and an issuer. */
export class TwoGateways implements AsyncDisposable {
  readonly issuer: IssuerWorld;
  readonly sites: readonly [GatewayBehindProxy, GatewayBehindProxy];
  readonly #sessions: SealedSessions;
  readonly #bundles = new Map<string, readonly KubeObject[]>();

  private constructor(
    issuer: IssuerWorld,
    sites: readonly [GatewayBehindProxy, GatewayBehindProxy],
    sessions: SealedSessions,
  ) {
    this.issuer = issuer;
    this.sites = sites;
    this.#sessions = sessions;
  }

  /** Starts all of them, with an Export that can be bound. */
  static async start(...flags: string[]): Promise<TwoGateways> {
    const issuer = await IssuerWorld.start();
    await issuer.offerReady(EXPORT, [WIDGETS]);
    const sessions = await sealedSessions();
    const options = { flags: ["--enable-issuer=false", ...flags], env: sessions.env };
    const start = (user: string) => GatewayBehindProxy.start(issuer.plane, user, options);
    return new TwoGateways(issuer, [await start("first"), await start("second")], sessions);
  }

  /** Binds at one gateway. Returns undefined if that fails. */
  async tryBind(who: string, nth: number): Promise<BindResult | undefined> {
    try {
      const token = await this.#sessions.seal(who);
      const answer = await this.#site(nth).gateway.tryBind(token, EXPORT);
      const text = await answer.text();
      return answer.status === 200 ? JSON.parse(text) : undefined;
    } catch {
      return undefined; // the gateway is down
    }
  }

  /** Picks up at one gateway, and returns any answer. */
  async pickUp(pickupURL: string, nth: number): Promise<PickupAnswer> {
    try {
      const answer = await this.#site(nth).gateway.request(pickupURL);
      const text = await answer.text();
      if (answer.status !== 200) return { status: answer.status };
      const bundle = objectsIn(text);
      this.#bundles.set(JSON.stringify(bundle), bundle);
      return { status: 200, bundle };
    } catch {
      return { status: 0 };
    }
  }

  /** Asserts that every delivered bundle works, and returns the number of distinct bundles. */
  async everyBundleWorks(): Promise<number> {
    for (const bundle of this.#bundles.values()) {
      assert.deepEqual(
        bundle.map(({ kind }) => kind),
        ["Secret", "Connection", "ClusterBinding"],
      );
      using konnector = await TestKonnector.start(bundle, crypto.randomUUID());
      await eventually("the credentials work", async () => {
        await konnector.kube.list(customType(WIDGETS));
        await konnector.beat();
        return true;
      });
    }
    return this.#bundles.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const site of this.sites) await site[Symbol.asyncDispose]();
    await this.issuer[Symbol.asyncDispose]();
  }

  #site(nth: number): GatewayBehindProxy {
    return this.sites[nth % 2 ? 1 : 0];
  }
}

import assert from "node:assert/strict";
import type { Catalog } from "../../../common/api/wire.ts";
import { Gateway, okJson } from "./gateway_world.ts";
import { WIDGETS } from "../planes/issuer_samples.ts";
import { IssuerWorld } from "./issuer_world.ts";
import { type SealedSessions, sealedSessions } from "../planes/sealed_sessions.ts";

/** Who the audit log says the gateway is. */
export const EXHAUSTED_USER = "exhausted";
/** How often somebody asks before giving up, and for how long each time. */
const TRIES = 3;
const PATIENCE_MS = 10_000;

/** A gateway with every way in, whose issuer has stopped. */
export class ExhaustionWorld implements AsyncDisposable {
  readonly provider: IssuerWorld;
  readonly #sessions: SealedSessions;
  #gateway: Gateway | undefined;

  private constructor(provider: IssuerWorld, sessions: SealedSessions) {
    this.provider = provider;
    this.#sessions = sessions;
  }

  /** Starts it; the Export `widgets` is Ready. */
  static async start(): Promise<ExhaustionWorld> {
    const provider = await IssuerWorld.start();
    await provider.offerReady("widgets", [WIDGETS]);
    await provider.stop();
    const world = new ExhaustionWorld(provider, await sealedSessions());
    await world.renew();
    return world;
  }

  get gateway(): Gateway {
    return this.#gateway ?? assert.fail("no gateway runs");
  }

  /** A new process in the place of the old one; its reaper is there for the metrics alone. */
  async renew(): Promise<void> {
    await this.#gateway?.[Symbol.asyncDispose]();
    const { plane } = this.provider;
    this.#gateway = await Gateway.start(plane, {
      flags: ["--enable-issuer=false", "--enable-reaper", "--enable-apply", "--kubernetes-auth"],
      kubeconfig: await plane.kubeconfigFor(EXHAUSTED_USER, ["system:masters"]),
      env: this.#sessions.env,
    });
  }

  /** A session of somebody. */
  seal(who: string): Promise<string> {
    return this.#sessions.seal(who);
  }

  /** Asserts that somebody who means no harm gets answers, each within a few tries. */
  async othersAreServed(): Promise<void> {
    const token = await this.seal("other");
    await persistently(async (signal) => {
      const answer = await this.gateway.request("/api/healthz", { signal });
      assert.equal(await answer.text(), "ok");
    });
    await persistently(async (signal) => {
      const catalog = await okJson<Catalog>(
        await this.gateway.as(token, "/api/catalog", { signal }),
      );
      assert.deepEqual(catalog.exports.map(({ name }) => name), ["widgets"]);
    });
    await persistently(async (signal) => {
      await okJson(await this.gateway.request("/api/provider", { signal }));
    });
  }

  /** A number that its metrics show. */
  async metric(name: string): Promise<number> {
    const address = await this.gateway.backend.addressOf("/metrics");
    const text = await (await fetch(`${address}/metrics`)).text();
    const [, value] = new RegExp(`^${name} (\\S+)$`, "m").exec(text) ?? assert.fail(`no ${name}`);
    return Number(value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gateway?.[Symbol.asyncDispose]();
    await this.provider[Symbol.asyncDispose]();
  }
}

async function persistently(ask: (signal: AbortSignal) => Promise<void>): Promise<void> {
  for (let tries = 1;; tries++) {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new Error("no answer in time")), PATIENCE_MS);
    try {
      return await ask(limit.signal);
    } catch (error) {
      if (tries === TRIES) throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

import assert from "node:assert/strict";
import type { Catalog } from "../../../common/api/wire.ts";
import { Gateway, okJson } from "./gateway_world.ts";
import { WIDGETS } from "../planes/issuer_samples.ts";
import { IssuerWorld } from "./issuer_world.ts";
import { type SealedSessions, sealedSessions } from "../planes/sealed_sessions.ts";

/** The gateway's user in the audit log. */
export const EXHAUSTED_USER = "exhausted";
/** How often a caller tries, and how long it waits each time. */
const TRIES = 3;
const PATIENCE_MS = 10_000;

/** A gateway with all login methods, whose issuer is stopped. */
export class ExhaustionWorld implements AsyncDisposable {
  readonly provider: IssuerWorld;
  readonly #sessions: SealedSessions;
  #gateway: Gateway | undefined;

  private constructor(provider: IssuerWorld, sessions: SealedSessions) {
    this.provider = provider;
    this.#sessions = sessions;
  }

  /** Starts the gateway, with the Ready Export `widgets`. */
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

  /** Replaces the process by a new one. Its reaper runs only for the metrics. */
  async renew(): Promise<void> {
    await this.#gateway?.[Symbol.asyncDispose]();
    const { plane } = this.provider;
    this.#gateway = await Gateway.start(plane, {
      flags: ["--enable-issuer=false", "--enable-reaper", "--enable-apply", "--kubernetes-auth"],
      kubeconfig: await plane.kubeconfigFor(EXHAUSTED_USER, ["system:masters"]),
      env: this.#sessions.env,
    });
  }

  /** Creates a session for this user. */
  seal(who: string): Promise<string> {
    return this.#sessions.seal(who);
  }

  /** Asserts that an honest caller gets answers, each within a few tries. */
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

  /** Reads a metric. */
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

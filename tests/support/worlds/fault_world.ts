import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually, type Patience } from "../../../scripts/controlplane/eventually.ts";
import {
  EXPORTS,
  type Grant,
  GRANTS,
  isDeleting,
  isReady,
  type ResourceType,
} from "../../../common/api/resources.ts";
import type { BindResult, Catalog, Clusters } from "../../../common/api/wire.ts";
import { isNotFound } from "../../../common/kube/kube_error.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { sleep } from "../../../common/time/wait.ts";
import { ownPlane } from "../planes/control_planes.ts";
import type { FaultProxy } from "../faults/fault_proxy.ts";
import { GatewayBehindProxy } from "./gateway_behind_proxy.ts";
import { type Gateway, okJson } from "./gateway_world.ts";
import { TestProvider } from "./provider.ts";
import { customType, exportFor, grantFor, issuedKeys, WIDGETS } from "../planes/issuer_samples.ts";
import { type SealedSessions, sealedSessions } from "../planes/sealed_sessions.ts";
import { objectsIn, TestKonnector } from "./test_konnector.ts";

/** The Export that the tests bind. */
const EXPORT = "widgets";
const HEALTH_EVERY_MS = 100;

/** A provider with other clients, and a backend with all modules behind a fault proxy. */
export class FaultWorld implements AsyncDisposable {
  readonly provider: TestProvider;
  readonly #site: GatewayBehindProxy;
  readonly #sessions: SealedSessions;
  #round = 0;

  private constructor(provider: TestProvider, site: GatewayBehindProxy, sessions: SealedSessions) {
    this.provider = provider;
    this.#site = site;
    this.#sessions = sessions;
  }

  /** Starts everything, with an Export that can be bound. */
  static async start(): Promise<FaultWorld> {
    const plane = await ownPlane({ auditLog: true });
    const sessions = await sealedSessions();
    const site = await GatewayBehindProxy.start(plane, "faulted", {
      flags: ["--enable-reaper"],
      env: sessions.env,
    });
    const world = new FaultWorld(await TestProvider.of(plane), site, sessions);
    await world.provider.define(WIDGETS);
    await world.provider.offerReady(EXPORT, [WIDGETS]);
    await world.changeThings(); // so that the first fault has something to delete
    return world;
  }

  get plane(): ControlPlane {
    return this.#site.plane;
  }

  get proxy(): FaultProxy {
    return this.#site.proxy;
  }

  get gateway(): Gateway {
    return this.#site.gateway;
  }

  /** Kills the backend, and starts another. */
  async crash(): Promise<void> {
    await this.#site.kill();
    await this.#site.succeed();
  }

  /** Creates the Export again after its deletion. */
  async offerAgain(): Promise<void> {
    await this.#offer(EXPORT, EXPORT);
  }

  /** Sends a bind, and returns any answer. */
  async tryBind(who: string): Promise<Response> {
    return await this.gateway.tryBind(await this.#sessions.seal(who), EXPORT);
  }

  /** Binds as this user, picks the bundle up, and uses it. */
  async bindWorks(who: string): Promise<void> {
    const { pickupURL } = await okJson<BindResult>(await this.tryBind(who));
    const answer = await this.gateway.request(pickupURL);
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    using konnector = await TestKonnector.start(objectsIn(text), crypto.randomUUID());
    await konnector.kube.list(customType(WIDGETS));
    await konnector.beat();
  }

  /** Creates, changes and deletes Exports and Grants as other clients do. */
  async changeThings(): Promise<void> {
    const round = ++this.#round;
    const { kube } = this.provider;
    const stays = grantFor({ who: `other-${round}` });
    const steps: (() => Promise<unknown>)[] = [
      () => this.#offer(`new-${round}`, "new"),
      () => this.#offer(`late-${round}`, "before"),
      () => this.#offer(`late-${round}`, `after ${round}`),
      () => kube.apply(GRANTS, stays, FIELD_MANAGERS.gateway),
      () => this.#remove(EXPORTS, `new-${round - 1}`),
      () => this.#remove(GRANTS, grantFor({ who: `other-${round - 1}` }).metadata.name),
    ];
    for (const [nth, step] of steps.entries()) {
      await eventually(`change ${nth} is made`, async () => (await step(), true), {
        timeoutMs: 120_000,
        everyMs: 200,
      });
    }
  }

  /** Waits until the backend's views are current, its work is done, and a bind works. */
  async recovers(patience: Patience): Promise<void> {
    await eventually("the views are current", () => this.#isCurrent(), patience);
    const tries = { ...patience, everyMs: 200 };
    await eventually("a bind works", async () => {
      await this.bindWorks(`new-${crypto.randomUUID()}`);
      return true;
    }, tries);
  }

  /** Returns the failed health checks of the process during `run`. */
  async complaintsDuring(run: () => Promise<unknown>): Promise<string[]> {
    const complaints = new Set<string>();
    let isOver = false;
    const looking = (async () => {
      while (!isOver) {
        const answer = await this.gateway.request("/api/healthz")
          .then(async (found) => `${found.status} ${await found.text()}`, String);
        if (answer !== "200 ok") complaints.add(answer);
        await sleep(HEALTH_EVERY_MS);
      }
    })();
    try {
      await run();
    } finally {
      isOver = true;
      await looking;
    }
    return [...complaints];
  }

  /** Compares the gateway's views and the issuer's work with live lists. */
  async #isCurrent(): Promise<true> {
    const token = await this.#sessions.seal("auditor");
    const view = async <T>(path: string): Promise<T> => {
      const answer = await this.gateway.as(token, path);
      const shown = await okJson<T>(answer);
      assert.equal(answer.headers.get("Age"), null, "the view is stale");
      return shown;
    };
    const exports = await this.provider.kube.list(EXPORTS);
    assert.ok(exports.every(isReady), "an Export has not been judged");
    const { exports: shown } = await view<Catalog>("/api/catalog");
    assert.deepEqual(
      shown.map(({ name, title }) => [name, title]),
      exports.map(({ metadata, spec }) => [metadata.name, spec.title]),
    );
    const grants = await this.provider.kube.list(GRANTS);
    assert.ok(!grants.some(isDeleting), "a Grant has not been revoked");
    assert.ok(grants.every(isReady), "a Grant has not been provisioned");
    const { clusters, pending = [] } = await view<Clusters>("/api/clusters");
    const known = [...clusters.flatMap(({ bindings }) => bindings), ...pending];
    assert.deepEqual(
      [...new Set(known.map(({ grant }) => grant))].sort(),
      grants.map(({ metadata }) => metadata.name).sort(),
    );
    await this.#assertNothingLeft(grantFor({ who: `other-${this.#round - 1}` }));
    return true;
  }

  /** Asserts that only the boundary of a deleted Grant is left. */
  async #assertNothingLeft(gone: Grant): Promise<void> {
    for (const [type, key] of issuedKeys(gone).slice(1)) {
      assert.equal(await this.provider.kube.find(type, key), undefined, type.plural);
    }
  }

  /** Applies an Export. It can be retried after an unknown outcome. */
  async #offer(name: string, title: string): Promise<void> {
    const offer = exportFor(name, [WIDGETS], { title });
    await this.provider.kube.apply(EXPORTS, offer, FIELD_MANAGERS.installer);
  }

  async #remove(type: ResourceType, name: string): Promise<void> {
    await this.provider.kube.delete(type, { name }).catch((error) => {
      if (!isNotFound(error)) throw error;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#site[Symbol.asyncDispose]();
    this.provider[Symbol.dispose]();
    await this.plane[Symbol.asyncDispose]();
  }
}

import assert from "node:assert/strict";
import type { AuditEvent } from "../../../scripts/controlplane/audit_events.ts";
import { eventually, type Patience } from "../../../scripts/controlplane/eventually.ts";
import {
  type Condition,
  condition,
  CRDS,
  type CustomResourceDefinition,
  type Event,
  EVENTS,
  type Export,
  type Grant,
  GRANTS,
  isReady,
  type KubeObject,
  type ResourceType,
} from "../../../common/api/resources.ts";
import { LABELS } from "../../../common/api/names.ts";
import { allowUser } from "../planes/allow_user.ts";
import { Backend } from "../programs/backend.ts";
import { ownPlane } from "../planes/control_planes.ts";
import { BACKEND_RULES, issuedKeys, WIDGETS } from "../planes/issuer_samples.ts";
import { connect, type Connected } from "../planes/kube.ts";
import { requestsDuring } from "../planes/requests_during.ts";
import { accessOf } from "./issued_access.ts";
import { TestProvider } from "./provider.ts";

const USER = "xbind-backend";

/** A separate provider, with a backend that has the rights of an issuer. */
export class IssuerWorld extends TestProvider implements AsyncDisposable {
  #backend: Backend | undefined;

  /** Starts the provider and a backend with these flags. */
  static async start(...flags: string[]): Promise<IssuerWorld> {
    const plane = await ownPlane({ auditLog: true });
    await allowUser(plane, USER, BACKEND_RULES);
    const world = new IssuerWorld(plane, await connect(plane));
    await world.restart(...flags);
    await world.define(WIDGETS);
    return world;
  }

  get backend(): Backend {
    return this.#backend ?? assert.fail("no backend runs");
  }

  /** Stops the backend, if one runs. */
  async stop(): Promise<void> {
    await using backend = this.#backend;
    this.#backend = undefined;
    if (backend) assert.equal(await backend.stop(), 0);
  }

  /** Kills the backend. */
  async kill(): Promise<void> {
    await this.#backend?.[Symbol.asyncDispose]();
    this.#backend = undefined;
  }

  /** Restarts the backend with these flags, and waits until it issues. */
  async restart(...flags: string[]): Promise<void> {
    await this.stop();
    this.#backend = await Backend.start(this.plane, {
      flags: ["--enable-gateway=false", ...flags],
      kubeconfig: await this.plane.kubeconfigFor(USER),
    });
    await this.#backend.logged("issuing");
  }

  /** Sets the label that makes a CRD exportable, or removes it with `null`. */
  async label(api: string, value: string | null): Promise<CustomResourceDefinition> {
    return await this.edit(CRDS, { name: api }, {
      metadata: { labels: { [LABELS.exported]: value } },
    });
  }

  /** Waits until the credentials of a Grant's current version are issued. */
  async ready(
    { metadata: { name } }: Pick<Grant, "metadata">,
    patience: Patience = {},
  ): Promise<Grant> {
    return await eventually(`Grant ${name} is Ready`, async () => {
      const stored = await this.kube.get(GRANTS, { name });
      assert.ok(isReady(stored), JSON.stringify(stored.status));
      return stored;
    }, patience);
  }

  /** Waits until a Grant or Export is not Ready for this reason, and returns the condition. */
  async unready(
    type: ResourceType<Grant> | ResourceType<Export>,
    { metadata: { name } }: Pick<KubeObject, "metadata">,
    reason: string,
    message = /./,
  ): Promise<Condition> {
    return await eventually(`${type.kind} ${name} is not Ready: ${reason}`, async () => {
      const stored = await this.kube.get<Grant | Export>(type, { name });
      const ready = condition(stored, "Ready");
      assert.equal(ready?.reason, reason, JSON.stringify(ready));
      assert.equal(ready.status, "False");
      assert.match(ready.message, message);
      assert.equal(ready.observedGeneration, stored.metadata.generation);
      return ready;
    });
  }

  /** Waits for the credentials of a Grant, and connects with them. */
  async issued(grant: Grant): Promise<Connected> {
    return await accessOf(this.plane, this.kube, grant);
  }

  /** Returns the existing objects of a Grant, by kind. */
  async issuedObjects(grant: Grant): Promise<Map<string, KubeObject>> {
    const found = new Map<string, KubeObject>();
    for (const [type, key] of issuedKeys(grant)) {
      const object = await this.kube.find(type, key);
      if (object) found.set(type.kind, object);
    }
    return found;
  }

  /** Returns the Events of an object, oldest first, such as `Warning APINotExported: …`. */
  async eventsOf({ metadata: { uid } }: KubeObject): Promise<string[]> {
    const events = await this.kube.list(EVENTS, { namespace: "default" });
    const byTime = (a: Event, b: Event) => a.eventTime < b.eventTime ? -1 : 1;
    return events.filter(({ regarding }) => regarding?.uid === uid).sort(byTime)
      .map(({ type, reason, note }) => `${type} ${reason}: ${note}`);
  }

  /** Returns the backend's writes during `run`, as `verb resource name`. */
  async writesDuring(run: () => Promise<unknown>): Promise<string[]> {
    return (await this.requestsDuring(run))
      .filter(({ verb }) => !["get", "list", "watch"].includes(verb))
      .filter(({ objectRef }) => !objectRef?.resource?.endsWith("reviews"))
      .map(({ verb, objectRef: { resource, subresource, name } = {} }) =>
        [verb, [resource, subresource].filter(Boolean).join("/"), name].filter(Boolean).join(" ")
      );
  }

  /** Returns the backend's requests to the API server during `run`, in order. */
  async requestsDuring(run: () => Promise<unknown>): Promise<AuditEvent[]> {
    using asBackend = await connect(await this.plane.kubeconfigFor(USER));
    return await requestsDuring(this.plane, { kube: asBackend.kube, user: USER }, run);
  }

  /** Reads the backend's count of a controller's reconciles. */
  async reconciles(controller: "grant" | "export"): Promise<number> {
    const text = await this.backend.metrics();
    const counts = text.matchAll(
      /^controller_runtime_reconcile_total\{controller="(\w+)",result="\w+"\} (\d+)$/gm,
    );
    return counts.filter(([, name]) => name === controller)
      .reduce((sum, [, , count]) => sum + Number(count), 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#backend?.[Symbol.asyncDispose]();
    this[Symbol.dispose]();
    await this.plane[Symbol.asyncDispose]();
  }
}

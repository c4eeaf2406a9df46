import { parse } from "yaml";
import { type AuditEvent, auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  COLLECTIONS,
  CRDS,
  type CustomResourceDefinition,
  type Export,
  EXPORTS,
  type ExportSpec,
  type Grant,
  GRANTS,
  type KubeObject,
  type Lease,
  NAMESPACES,
  type ObjectMeta,
  type ResourceType,
} from "../../../common/api/resources.ts";
import { ApiCaches, type ApiCachesTiming } from "../../../server/inventory/api_caches.ts";
import { heartbeatCache } from "../../../server/provider/heartbeats.ts";
import { Inventory } from "../../../server/inventory/inventory.ts";
import { Outage } from "../../../server/inventory/outage.ts";
import { Cache } from "../../../common/kube/cache.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { wholeObjects } from "../../../common/kube/follow.ts";
import { isNotFound } from "../../../common/kube/kube_error.ts";
import { ANNOTATIONS, boundaryName, FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import { createLogger } from "../../../common/log/log.ts";
import { type Connected, running } from "../planes/kube.ts";
import { requestsDuring } from "../planes/requests_during.ts";
import { TestProvider } from "./provider.ts";

const TEST_LABEL = "inventory-test";
const READ = ["get", "list", "watch"];
const WIDGETS = new URL("../../../examples/widgets/crd.yaml", import.meta.url);

/** A running inventory and its log. */
export interface TestInventory extends AsyncDisposable {
  readonly inventory: Inventory;
  readonly apis: ApiCaches;
  readonly logged: readonly string[];
}

/** The Exports, Grants, consumers and services of one test on a provider. */
export class InventoryWorld implements AsyncDisposable {
  readonly id: string;
  /** A namespace for the test's objects. */
  readonly namespace: string;
  readonly #provider: TestProvider;
  readonly #gateway: Connected;
  readonly #labels: Record<string, string>;

  private constructor(provider: TestProvider, id: string, gateway: Connected) {
    this.id = id;
    this.namespace = `inventory-${id}`;
    this.#provider = provider;
    this.#gateway = gateway;
    this.#labels = { [TEST_LABEL]: id };
  }

  static async start(plane: ControlPlane): Promise<InventoryWorld> {
    const id = crypto.randomUUID().slice(0, 8);
    const provider = await TestProvider.of(plane);
    await provider.installCrds();
    // The rights of the chart, except for one forbidden group.
    const gateway = await provider.connectAs(userOf(id), [
      { apiGroups: ["catalog.xbind.io", "iam.xbind.io"], resources: ["*"], verbs: READ },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: READ },
      { apiGroups: [CRDS.group], resources: [CRDS.plural], verbs: READ },
      { apiGroups: ["", groupOf(id, "a"), groupOf(id, "b")], resources: ["*"], verbs: READ },
    ]);
    const world = new InventoryWorld(provider, id, gateway);
    await world.makeNamespace(world.namespace);
    return world;
  }

  get kube(): KubeClient {
    return this.#provider.kube;
  }

  /** Returns the name of the widgets API in one of the test's groups. */
  api(group: string): string {
    return `widgets.${groupOf(this.id, group)}`;
  }

  /** Returns the type of these widgets. */
  widgets(group: string): ResourceType {
    return {
      group: groupOf(this.id, group),
      version: "v1alpha1",
      plural: "widgets",
      kind: "Widget",
      namespaced: true,
    };
  }

  /** Installs the sample service in one of the test's groups. */
  async define(group: string): Promise<void> {
    const crd: CustomResourceDefinition = parse(await Deno.readTextFile(WIDGETS));
    crd.metadata.name = this.api(group);
    crd.metadata.labels = { ...crd.metadata.labels, ...this.#labels };
    crd.spec.group = groupOf(this.id, group);
    await this.kube.create(CRDS, crd, FIELD_MANAGERS.installer);
    await eventually("the API is served", async () => {
      await this.kube.list(this.widgets(group));
      return true;
    });
  }

  /** Removes the service with all its objects. */
  async undefine(group: string): Promise<void> {
    await this.kube.delete(CRDS, { name: this.api(group) });
    const isGone = async () => !await this.kube.find(CRDS, { name: this.api(group) });
    await eventually("the CRD is gone", isGone);
  }

  subject(who: string): string {
    return `inventory-test#${this.id}-${who}`;
  }

  /** Creates an Export of the test's APIs, optionally not Ready. */
  async offer(
    name: string,
    groups: readonly string[],
    spec: Partial<ExportSpec> = {},
    isReady = true,
  ): Promise<Export> {
    const created = await this.#provider.offer(
      `${name}-${this.id}`,
      groups.map((group) => this.api(group)),
      { title: name, ...spec },
      this.#labels,
    );
    return await this.judge(created, isReady);
  }

  /** Sets Ready of an Export at its current generation. */
  async judge(offer: Export, isReady = true): Promise<Export> {
    return await this.#provider.judge(offer, isReady ? "True" : "False");
  }

  /** Creates a Collection of these Exports. */
  async collect(title: string, exports: readonly string[]): Promise<void> {
    await this.#provider.collect(`${title}-${this.id}`, exports, { title }, this.#labels);
  }

  /** Creates the Grant of a bind by this user, and its boundary. */
  async grant(offer: Export, who: string): Promise<Grant> {
    const subject = this.subject(who);
    await this.makeNamespace(boundaryName(subject));
    return await this.#provider.grant({
      subject,
      displayName: `${who}@example.org`,
      exportName: offer.metadata.name,
      apis: offer.spec.apis.map(({ name }) => name),
      labels: this.#labels,
    });
  }

  /** Renews a heartbeat as a konnector does. */
  async beat(grant: Grant, consumerUid: string, spec: Lease["spec"] = {}): Promise<Lease> {
    return await this.#provider.beat(grant, { consumerUid, spec });
  }

  /** Writes an object of the sample service with this metadata. */
  async widget(group: string, name: string, metadata: Partial<ObjectMeta>): Promise<KubeObject> {
    const type = this.widgets(group);
    const widget = {
      apiVersion: `${type.group}/${type.version}`,
      kind: type.kind,
      metadata: { ...metadata, name, namespace: this.namespace },
      spec: { size: "small" },
    };
    return await this.kube.create(type, widget, FIELD_MANAGERS.cli);
  }

  /** Starts an inventory of this test's Grants and Exports, with the rights of a gateway. */
  async inventory(timing?: ApiCachesTiming): Promise<TestInventory> {
    const { kube } = this.#gateway;
    const logged: string[] = [];
    const log = logger((line) => logged.push(line));
    const selection = { labelSelector: `${TEST_LABEL}=${this.id}` };
    const caches = {
      exports: new Cache(wholeObjects(EXPORTS, selection)),
      collections: new Cache(wholeObjects(COLLECTIONS, selection)),
      grants: new Cache(wholeObjects(GRANTS, selection)),
      heartbeats: heartbeatCache(),
    };
    const stack = new AsyncDisposableStack();
    stack.use(await running(caches.exports, kube));
    stack.use(await running(caches.collections, kube));
    stack.use(await running(caches.grants, kube));
    stack.use(await running(caches.heartbeats, kube));
    const apis = new ApiCaches({ kube, log, ...(timing ? { timing } : {}) });
    const stop = new AbortController();
    const run = apis.run(stop.signal);
    stack.defer(async () => {
      stop.abort();
      await run;
    });
    const inventory = new Inventory({ caches, outage: NO_OUTAGE, apis, log });
    return {
      inventory,
      apis,
      logged,
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  }

  /** Returns the inventories' requests to the API server during `run`, without watches. */
  async requests(run: () => Promise<unknown>): Promise<AuditEvent[]> {
    return await requestsDuring(
      this.#provider.plane,
      { kube: this.#gateway.kube, user: userOf(this.id) },
      run,
    );
  }

  /** Returns the watches on a resource that the inventories have opened. */
  async watches(resource: string): Promise<AuditEvent[]> {
    return await auditEvents(
      this.#provider.plane,
      ({ stage, verb, user: { username }, objectRef }) =>
        stage === "ResponseStarted" && verb === "watch" && username === userOf(this.id) &&
        objectRef?.resource === resource,
    );
  }

  async makeNamespace(name: string): Promise<void> {
    await this.#provider.makeNamespace(name, { labels: this.#labels });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const selection = { labelSelector: `${TEST_LABEL}=${this.id}` };
    for (const type of [GRANTS, EXPORTS, COLLECTIONS, CRDS, NAMESPACES] as ResourceType[]) {
      for (const { metadata: { name } } of await this.kube.list(type, selection)) {
        await this.kube.delete(type, { name }).catch(absent);
      }
    }
    await this.#provider.removeUsers(userOf(this.id));
    this.#gateway[Symbol.dispose]();
    this.#provider[Symbol.dispose]();
  }
}

/** Returns the metadata of a synced object, with the name of its Grant if known. */
export const synced = (uid: string, grant?: string): Partial<ObjectMeta> => ({
  labels: { [LABELS.managed]: "true" },
  annotations: {
    [ANNOTATIONS.consumerClusterUid]: uid,
    ...(grant ? { [ANNOTATIONS.connection]: grant } : {}),
  },
});

/** No outage: these tests break watches only, and other tests cover failed calls. */
const NO_OUTAGE = new Outage({ probe: () => Promise.resolve() });

const userOf = (id: string): string => `inventory-test-${id}`;

const groupOf = (id: string, group: string): string => `${group}.inv-${id}.example.org`;

const logger = (write: (line: string) => void) =>
  createLogger({
    encoder: "json",
    level: "info",
    stacktraceLevel: "panic",
    timeEncoding: "rfc3339",
    write,
  });

const absent = (error: unknown): void => {
  if (!isNotFound(error)) throw error;
};

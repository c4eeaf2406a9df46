import { parse } from "yaml";
import { type AuditEvent, auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { serviceCrds } from "../../../common/api/crd_manifests.ts";
import { CATALOG_API_VERSION, IAM_API_VERSION } from "../../../common/api/groups.ts";
import {
  type Collection,
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
  LEASES,
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
import { installCrds } from "../../../common/kube/crds.ts";
import { wholeObjects } from "../../../common/kube/follow.ts";
import { isNotFound } from "../../../common/kube/kube_error.ts";
import {
  ANNOTATIONS,
  boundaryName,
  FIELD_MANAGERS,
  grantName,
  heartbeatLeaseName,
  LABELS,
} from "../../../common/api/names.ts";
import { createLogger } from "../../../common/log/log.ts";
import { allowUser } from "../planes/allow_user.ts";
import { connect, type Connected, running } from "../planes/kube.ts";
import { requestsDuring } from "../planes/requests_during.ts";

const TEST_LABEL = "inventory-test";
const READ = ["get", "list", "watch"];
const WIDGETS = new URL("../../../examples/widgets/crd.yaml", import.meta.url);

/** A running inventory and what it says to its log. */
export interface TestInventory extends AsyncDisposable {
  readonly inventory: Inventory;
  readonly apis: ApiCaches;
  readonly logged: readonly string[];
}

/** One test's Exports, Grants, consumers and services on a provider. */
export class InventoryWorld implements AsyncDisposable {
  readonly id: string;
  /** A namespace for the test's objects. */
  readonly namespace: string;
  readonly #plane: ControlPlane;
  readonly #admin: Connected;
  readonly #gateway: Connected;
  readonly #labels: Record<string, string>;

  private constructor(
    plane: ControlPlane,
    id: string,
    admin: Connected,
    gateway: Connected,
  ) {
    this.id = id;
    this.namespace = `inventory-${id}`;
    this.#plane = plane;
    this.#admin = admin;
    this.#gateway = gateway;
    this.#labels = { [TEST_LABEL]: id };
  }

  static async start(plane: ControlPlane): Promise<InventoryWorld> {
    const id = crypto.randomUUID().slice(0, 8);
    const admin = await connect(plane);
    const deps = { kube: admin.kube, log: logger(() => {}), version: "0.0.0" };
    await installCrds(deps, serviceCrds(), AbortSignal.timeout(30_000));
    // As the chart does, but for one group that nobody may read.
    await allowUser(plane, userOf(id), [
      { apiGroups: ["catalog.xbind.io", "iam.xbind.io"], resources: ["*"], verbs: READ },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: READ },
      { apiGroups: [CRDS.group], resources: [CRDS.plural], verbs: READ },
      { apiGroups: ["", groupOf(id, "a"), groupOf(id, "b")], resources: ["*"], verbs: READ },
    ]);
    const gateway = await connect(await plane.kubeconfigFor(userOf(id)));
    await eventually("the user may list Grants", () => gateway.kube.list(GRANTS).then(() => true));
    const world = new InventoryWorld(plane, id, admin, gateway);
    await world.makeNamespace(world.namespace);
    return world;
  }

  get kube(): KubeClient {
    return this.#admin.kube;
  }

  /** The name of the widgets API in one of the test's own groups. */
  api(group: string): string {
    return `widgets.${groupOf(this.id, group)}`;
  }

  /** The type of those widgets. */
  widgets(group: string): ResourceType {
    return {
      group: groupOf(this.id, group),
      version: "v1alpha1",
      plural: "widgets",
      kind: "Widget",
      namespaced: true,
    };
  }

  /** Installs the sample service under a group of the test's own. */
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

  /** An Export over the test's own groups, Ready if so wanted. */
  async offer(
    name: string,
    groups: readonly string[],
    spec: Partial<ExportSpec> = {},
    isReady = true,
  ): Promise<Export> {
    const full: Export = {
      apiVersion: CATALOG_API_VERSION,
      kind: "Export",
      metadata: { name: `${name}-${this.id}`, labels: this.#labels },
      spec: { title: name, apis: groups.map((group) => ({ name: this.api(group) })), ...spec },
    };
    return await this.judge(await this.kube.create(EXPORTS, full, FIELD_MANAGERS.cli), isReady);
  }

  /** Says of an Export, as it is now, whether it is Ready. */
  async judge({ apiVersion, kind, metadata }: Export, isReady = true): Promise<Export> {
    const status = {
      conditions: [{
        type: "Ready",
        status: isReady ? "True" : "False",
        reason: "AsExpected",
        message: "",
        lastTransitionTime: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
        observedGeneration: metadata.generation,
      }],
    };
    const { name } = metadata;
    const update = { apiVersion, kind, metadata: { name }, status } as unknown as Export;
    return await this.kube.applyStatus(EXPORTS, update, FIELD_MANAGERS.exports);
  }

  /** A Collection of these Exports. */
  async collect(title: string, exports: readonly string[]): Promise<void> {
    const collection: Collection = {
      apiVersion: CATALOG_API_VERSION,
      kind: "Collection",
      metadata: { name: `${title}-${this.id}`, labels: this.#labels },
      spec: { title, exports: exports.map((name) => ({ name })) },
    };
    await this.kube.create(COLLECTIONS, collection, FIELD_MANAGERS.cli);
  }

  /** The Grant that a bind of this person would make, and the boundary. */
  async grant(offer: Export, who: string): Promise<Grant> {
    const subject = this.subject(who);
    await this.makeNamespace(boundaryName(subject));
    return await this.kube.create(
      GRANTS,
      {
        apiVersion: IAM_API_VERSION,
        kind: "Grant",
        metadata: { name: grantName(offer.metadata.name, subject), labels: this.#labels },
        spec: {
          identity: { subject, displayName: `${who}@example.org` },
          exportName: offer.metadata.name,
          apis: offer.spec.apis,
        },
      },
      FIELD_MANAGERS.gateway,
    );
  }

  /** Renews a heartbeat as a konnector does. */
  async beat(grant: Grant, uid: string, spec: Lease["spec"] = {}): Promise<Lease> {
    const { name } = grant.metadata;
    return await this.kube.apply(
      LEASES,
      {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: {
          name: heartbeatLeaseName(name, uid),
          namespace: boundaryName(grant.spec.identity.subject),
          labels: { [LABELS.managed]: "true" },
          annotations: {
            [ANNOTATIONS.connection]: name,
            [ANNOTATIONS.consumerClusterUid]: uid,
          },
        },
        spec: {
          holderIdentity: uid,
          leaseDurationSeconds: 60,
          renewTime: new Date().toISOString().replace("Z", "000Z"),
          ...spec,
        },
      },
      FIELD_MANAGERS.cli,
    );
  }

  /** Writes an object of the sample service as a konnector does, or as somebody else. */
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

  /** An inventory over this test's Grants and Exports, with the rights of a gateway. */
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

  /** What the inventories asked of the API server while something ran, their watches aside. */
  async requests(run: () => Promise<unknown>): Promise<AuditEvent[]> {
    return await requestsDuring(
      this.#plane,
      { kube: this.#gateway.kube, user: userOf(this.id) },
      run,
    );
  }

  /** The watches on a resource that the inventories opened so far. */
  async watches(resource: string): Promise<AuditEvent[]> {
    return await auditEvents(
      this.#plane,
      ({ stage, verb, user: { username }, objectRef }) =>
        stage === "ResponseStarted" && verb === "watch" && username === userOf(this.id) &&
        objectRef?.resource === resource,
    );
  }

  async makeNamespace(name: string): Promise<void> {
    const namespace = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels: this.#labels },
    };
    await this.kube.apply(NAMESPACES, namespace, FIELD_MANAGERS.installer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const selection = { labelSelector: `${TEST_LABEL}=${this.id}` };
    for (const type of [GRANTS, EXPORTS, COLLECTIONS, CRDS, NAMESPACES] as ResourceType[]) {
      for (const { metadata: { name } } of await this.kube.list(type, selection)) {
        await this.kube.delete(type, { name }).catch(absent);
      }
    }
    for (const kind of ["clusterrolebinding", "clusterrole"]) {
      await this.#plane.kubectl(["delete", "--ignore-not-found", kind, userOf(this.id)]);
    }
    this.#gateway[Symbol.dispose]();
    this.#admin[Symbol.dispose]();
  }
}

/** Metadata of an object that a konnector synced for a consumer cluster. */
export const synced = (uid: string, binding?: string): Partial<ObjectMeta> => ({
  labels: { [LABELS.managed]: "true" },
  annotations: {
    [ANNOTATIONS.consumerClusterUid]: uid,
    ...(binding ? { [ANNOTATIONS.relatedBinding]: binding } : {}),
  },
});

/** These tests break watches; calls have tests of their own. */
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

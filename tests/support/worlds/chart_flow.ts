import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { kubeconfigFor } from "../../../scripts/controlplane/kubeconfig.ts";
import { CATALOG_API_VERSION } from "../../../common/api/groups.ts";
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  COLLECTIONS,
  condition,
  CONFIG_MAPS,
  CRDS,
  EVENTS,
  EXPORTS,
  GRANTS,
  type KubeObject,
  LEASES,
  NAMESPACES,
  type ResourceType,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
} from "../../../common/api/resources.ts";
import type {
  ApplyResult,
  Catalog,
  Clusters,
  Identity,
  Instances,
} from "../../../common/api/wire.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { isForbidden } from "../../../common/kube/kube_error.ts";
import type { ObjectKey } from "../../../common/kube/paths.ts";
import {
  ANNOTATIONS,
  boundaryName,
  clusterRoleName,
  FIELD_MANAGERS,
  grantName,
  LABELS,
} from "../../../common/api/names.ts";
import { submitted } from "../../testdata/hostile_kubeconfigs/parts.ts";
import { type Gateway, okJson, postJson } from "./gateway_world.ts";
import { TestProvider } from "./provider.ts";
import { beating } from "../planes/beating.ts";
import { customType, WIDGETS } from "../planes/issuer_samples.ts";
import { accountToken } from "../planes/kube.ts";
import { objectsIn, TestKonnector } from "./test_konnector.ts";

const CONSUMER = "0123456789-consumer";
const GADGETS = "gadgets.example.org";
const { installer } = FIELD_MANAGERS;

/** Every step of users, consumers and administrators at a provider. */
export class ChartFlow implements AsyncDisposable {
  readonly #gateway: Gateway;
  readonly #provider: TestProvider;
  #token = "";
  #grant = "";
  #boundary = "";
  #konnector: TestKonnector | undefined;
  #beating: AsyncDisposable | undefined;

  private constructor(gateway: Gateway, provider: TestProvider) {
    this.#gateway = gateway;
    this.#provider = provider;
  }

  static async start(plane: ControlPlane, gateway: Gateway): Promise<ChartFlow> {
    return new ChartFlow(gateway, await TestProvider.of(plane));
  }

  get #kube(): KubeClient {
    return this.#provider.kube;
  }

  /** Offers two APIs, one with related resources in both directions, and a Collection. */
  async offer(): Promise<void> {
    for (const api of [WIDGETS, GADGETS]) await this.#provider.define(api);
    await this.#provider.makeNamespace("team");
    await this.#provider.offerReady("gadgets", [GADGETS]);
    await this.#provider.offerReady("widgets", [WIDGETS], {
      defaults: {
        relatedResources: [
          { resource: "configmaps", direction: "FromConsumer", selector: { names: ["settings"] } },
          { resource: "secrets", direction: "FromProvider", selector: { names: ["shared"] } },
        ],
      },
    });
    await this.#kube.create(COLLECTIONS, {
      apiVersion: CATALOG_API_VERSION,
      kind: "Collection",
      metadata: { name: "all" },
      spec: { title: "All", exports: [{ name: "widgets" }, { name: "gadgets" }] },
    }, installer);
  }

  /** Signs in and reads the catalog. */
  async logIn(): Promise<void> {
    ({ token: this.#token } = await this.#gateway.login());
    const { subject } = await this.#gateway.read<Identity>(this.#token, "/api/me");
    this.#grant = grantName("widgets", subject);
    this.#boundary = boundaryName(subject);
    await eventually("the catalog is complete", async () => {
      const catalog = await this.#gateway.read<Catalog>(this.#token, "/api/catalog");
      return catalog.exports.length === 2 && catalog.collections?.length === 1;
    });
  }

  /** Binds into an existing boundary, and picks the bundle up. */
  async bind(): Promise<void> {
    await this.#provider.makeNamespace(this.#boundary);
    const { grant, pickupURL } = await this.#gateway.bind(this.#token, "widgets");
    assert.equal(grant, this.#grant);
    const pickup = await this.#gateway.request(pickupURL);
    this.#konnector = await TestKonnector.start(objectsIn(await pickup.text()), CONSUMER);
  }

  /** Binds again, which renews the Grant's pickup. */
  async bindAgain(): Promise<void> {
    const { grant } = await this.#gateway.bind(this.#token, "widgets");
    assert.equal(grant, this.#grant);
  }

  /** Starts to sync as a konnector does, and finds the objects in the inventories. */
  async sync(): Promise<void> {
    const konnector = this.#konnector ?? assert.fail("nothing is bound");
    await eventually("the konnector may write its heartbeat", () => konnector.beat());
    const beat = () =>
      konnector.beat().catch((error) => {
        if (!isForbidden(error)) throw error; // its rights may be missing for a moment
      });
    this.#beating = beating(beat, 1_000);
    await konnector.sync(customType(WIDGETS), "team", "small");
    const related = { [ANNOTATIONS.relatedBinding]: crypto.randomUUID() };
    await konnector.sync(CONFIG_MAPS, "team", "settings", related);
    await this.#kube.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "shared", namespace: "team" },
    }, installer);
    await eventually("the cluster is live", async () => {
      const { clusters } = await this.#gateway.read<Clusters>(this.#token, "/api/clusters");
      return clusters[0]?.live && clusters[0].bindings[0]?.apis[0]?.syncedCount === 1;
    });
    await eventually("all instances are listed", async () => {
      const path = "/api/catalog/widgets/instances";
      const { instances } = await this.#gateway.read<Instances>(this.#token, path);
      const rows = instances.map(({ api, name }) => `${api} ${name}`);
      assert.deepEqual(rows, [`${WIDGETS} small`, "configmaps settings", "secrets shared"]);
      return true;
    });
  }

  /** Makes the gateway install the konnector and the bundle on a consumer. */
  async apply(consumer: ControlPlane): Promise<void> {
    const { server, caPem } = consumer;
    const credentials = await consumer.userCertificate("admin", ["system:masters"]);
    const parts = { cluster: "consumer", server, caPem, user: "admin", credentials };
    const kubeconfig = submitted(kubeconfigFor(parts));
    const body = { export: "widgets", installKonnector: true, kubeconfig };
    const answer = await this.#gateway.as(this.#token, "/api/apply", postJson(body));
    const { applied } = await okJson<ApplyResult>(answer);
    assert.equal(applied.at(-1), `ClusterBinding/${this.#grant}`);
  }

  /** Binds as a ServiceAccount that never connects, and returns the Grant's name. */
  async bindAsAccount(): Promise<string> {
    const token = await accountToken(this.#kube, "team", "caller");
    const { subject } = await this.#gateway.read<Identity>(token, "/api/me");
    assert.equal(subject, "kubernetes#system:serviceaccount:team:caller");
    return (await this.#gateway.bind(token, "gadgets")).grant;
  }

  /** Waits until a silent Grant was reported stale and deleted with its boundary. */
  async reaped(grant: string): Promise<void> {
    await this.#gone(GRANTS, grant);
    await this.#gone(NAMESPACES, boundaryName("kubernetes#system:serviceaccount:team:caller"));
    await this.#told("Stale");
    await this.#told("Revoked");
  }

  /** Breaks the RBAC of the Grant, and waits until the issuer repairs it. */
  async repair(): Promise<void> {
    const inBoundary = { name: this.#grant, namespace: this.#boundary };
    const everywhere = { name: clusterRoleName(this.#grant) };
    await this.#repaired(ROLES, inBoundary, { rules: [] });
    await this.#repaired(ROLE_BINDINGS, inBoundary, { subjects: [] });
    await this.#repaired(CLUSTER_ROLES, everywhere, { rules: [] });
    await this.#repaired(CLUSTER_ROLE_BINDINGS, everywhere, { subjects: [] });
  }

  /** Creates a role of a Grant that does not exist, and waits until the issuer deletes it. */
  async leaveBehind(): Promise<void> {
    const name = clusterRoleName("vanished");
    await this.#kube.create(CLUSTER_ROLES, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name, labels: { [LABELS.grant]: "vanished" } },
    }, installer);
    await this.#gone(CLUSTER_ROLES, name);
  }

  /** Deletes the Grant, and waits until its rights and heartbeats are deleted. */
  async revoke(): Promise<void> {
    await this.#told("Provisioned");
    await this.#beating?.[Symbol.asyncDispose]();
    await this.#kube.delete(GRANTS, { name: this.#grant });
    await this.#gone(GRANTS, this.#grant);
    await this.#gone(CLUSTER_ROLES, clusterRoleName(this.#grant));
    assert.deepEqual(await this.#kube.list(LEASES, { namespace: this.#boundary }), []);
  }

  /** Removes the label of an API, and waits until its Export is not Ready. */
  async withdraw(): Promise<void> {
    const labels = { [LABELS.exported]: null };
    await this.#edit(CRDS, { name: GADGETS }, { metadata: { labels } });
    await eventually("the Export is not Ready", async () => {
      const offer = await this.#kube.get(EXPORTS, { name: "gadgets" });
      return condition(offer, "Ready")?.reason === "APINotExported";
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#beating?.[Symbol.asyncDispose]();
    this.#konnector?.[Symbol.dispose]();
    this.#provider[Symbol.dispose]();
  }

  async #edit(type: ResourceType, key: ObjectKey, change: object): Promise<KubeObject> {
    return await eventually(`${type.kind} ${key.name} is edited`, async () => {
      const { metadata: { resourceVersion = "" } } = await this.#kube.get(type, key);
      const metadata = { ...("metadata" in change ? change.metadata as object : {}) };
      const patch = { ...change, metadata: { ...metadata, resourceVersion } };
      return await this.#kube.mergePatch(type, key, patch, installer);
    });
  }

  async #repaired(type: ResourceType, key: ObjectKey, damage: object): Promise<void> {
    const [field = ""] = Object.keys(damage);
    const read = async () => Object.entries(await this.#kube.get(type, key));
    const sound = (await read()).find(([name]) => name === field);
    await this.#edit(type, key, damage);
    await eventually(`${type.kind} ${key.name} is repaired`, async () => {
      assert.deepEqual((await read()).find(([name]) => name === field), sound);
      return true;
    });
  }

  async #gone(type: ResourceType, name: string): Promise<void> {
    const isGone = async () => !await this.#kube.find(type, { name });
    await eventually(`${type.kind} ${name} is gone`, isGone, { timeoutMs: 90_000 });
  }

  async #told(reason: string): Promise<void> {
    await eventually(`there is an Event ${reason}`, async () => {
      const events = await this.#kube.list(EVENTS, { namespace: "default" });
      return events.some((event) => event.reason === reason);
    });
  }
}

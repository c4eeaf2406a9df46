import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { serviceCrds } from "../../../common/api/crd_manifests.ts";
import { CATALOG_API_VERSION } from "../../../common/api/groups.ts";
import { boundaryName, FIELD_MANAGERS, type FieldManager } from "../../../common/api/names.ts";
import {
  COLLECTIONS,
  type CollectionSpec,
  type Condition,
  CRDS,
  type Export,
  EXPORTS,
  type ExportSpec,
  type Grant,
  GRANTS,
  isReady,
  type KubeObject,
  type Lease,
  LEASES,
  type Namespace,
  NAMESPACES,
  type ObjectMeta,
  type ResourceType,
} from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { installCrds } from "../../../common/kube/crds.ts";
import type { ObjectKey } from "../../../common/kube/paths.ts";
import { createLogger } from "../../../common/log/log.ts";
import { allowUser } from "../planes/allow_user.ts";
import {
  crdFor,
  customType,
  EXPORTED,
  exportFor,
  grantFor,
  type GrantSample,
  leaseFor,
  readyCondition,
} from "../planes/issuer_samples.ts";
import { connect, type Connected } from "../planes/kube.ts";

const LOG = createLogger({
  encoder: "json",
  level: "error",
  stacktraceLevel: "panic",
  timeEncoding: "rfc3339",
});

/** The changes of a heartbeat to the default one. */
export interface Beat {
  readonly renewTimeMs?: number;
  readonly connection?: string;
  readonly namespace?: string;
  readonly consumerUid?: string;
  readonly spec?: Lease["spec"];
}

type Labels = Record<string, string>;

/** A provider's services, Exports, Grants, boundaries and heartbeats, as administrator. */
export class TestProvider implements Disposable {
  readonly plane: ControlPlane;
  readonly #admin: Connected;

  protected constructor(plane: ControlPlane, admin: Connected) {
    this.plane = plane;
    this.#admin = admin;
  }

  /** Connects to a provider as its administrator. */
  static async of(plane: ControlPlane): Promise<TestProvider> {
    return new TestProvider(plane, await connect(plane));
  }

  get kube(): KubeClient {
    return this.#admin.kube;
  }

  /** Installs the CRDs of xbind, for tests without a backend. */
  async installCrds(): Promise<void> {
    const deps = { kube: this.kube, log: LOG, version: "0.0.0" };
    await installCrds(deps, serviceCrds(), AbortSignal.timeout(30_000));
  }

  /** Creates an object with the kind of its type. */
  async create<T extends KubeObject>(
    type: ResourceType<T>,
    object: Omit<T, "apiVersion" | "kind">,
  ): Promise<T> {
    const apiVersion = type.group ? `${type.group}/${type.version}` : type.version;
    const whole = { apiVersion, kind: type.kind, ...object } as T;
    return await this.kube.create(type, whole, FIELD_MANAGERS.installer);
  }

  /** Changes an object by a merge patch, as `kubectl edit` does. */
  async edit<T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    change: object | ((object: T) => object),
  ): Promise<T> {
    return await eventually(`${type.kind} ${key.name} is edited`, async () => {
      const found = await this.kube.get(type, key);
      const patch = typeof change === "function" ? change(found) : change;
      const metadata = { ...("metadata" in patch ? patch.metadata as object : {}) };
      const { resourceVersion = "" } = found.metadata;
      return await this.kube.mergePatch(
        type,
        key,
        { ...patch, metadata: { ...metadata, resourceVersion } },
        FIELD_MANAGERS.installer,
      );
    });
  }

  /** Creates an API once an earlier one of that name is deleted, and waits until it is served. */
  async define(api: string, labels: Labels = EXPORTED): Promise<void> {
    await eventually(
      `${api} can be made`,
      () => this.kube.create(CRDS, crdFor(api, labels), FIELD_MANAGERS.installer),
    );
    await eventually(`${api} is served`, () => this.kube.list(customType(api)).then(() => true));
  }

  /** Creates a namespace unless it exists. */
  async makeNamespace(
    name: string,
    metadata: Partial<ObjectMeta> = {},
    manager: FieldManager = FIELD_MANAGERS.installer,
  ): Promise<Namespace> {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { ...metadata, name } };
    return await this.kube.apply(NAMESPACES, namespace, manager);
  }

  /** Creates an Export. Waits for its CRD, which a backend may still be installing. */
  async offer(
    name: string,
    apis: readonly string[],
    spec: Partial<ExportSpec> = {},
    labels: Labels = {},
  ): Promise<Export> {
    const wanted = exportFor(name, apis, spec, labels);
    return await eventually(
      `Export ${name} is made`,
      () => this.kube.create(EXPORTS, wanted, FIELD_MANAGERS.installer),
    );
  }

  /** Creates an Export, and waits until the issuer makes it Ready. */
  async offerReady(...offer: Parameters<TestProvider["offer"]>): Promise<Export> {
    const { metadata: { name } } = await this.offer(...offer);
    return await eventually(`Export ${name} is Ready`, async () => {
      const stored = await this.kube.get(EXPORTS, { name });
      return isReady(stored) && stored;
    });
  }

  /** Creates a Collection of Exports. */
  async collect(
    name: string,
    exports: readonly string[],
    spec: Omit<CollectionSpec, "exports">,
    labels: Labels = {},
  ): Promise<void> {
    await this.kube.create(COLLECTIONS, {
      apiVersion: CATALOG_API_VERSION,
      kind: "Collection",
      metadata: { name, labels },
      spec: { ...spec, exports: exports.map((each) => ({ name: each })) },
    }, FIELD_MANAGERS.installer);
  }

  /** Sets the Ready condition of an Export at its current generation, as the issuer does. */
  async judge(
    { apiVersion, kind, metadata }: Export,
    status: Condition["status"] = "True",
  ): Promise<Export> {
    const conditions = [readyCondition({ metadata }, { status })];
    const judged = { apiVersion, kind, metadata: { name: metadata.name }, status: { conditions } };
    return await this.kube.applyStatus(EXPORTS, judged as Export, FIELD_MANAGERS.exports);
  }

  /** Creates a Grant as a bind does. */
  async grant(sample: GrantSample = {}): Promise<Grant> {
    return await this.kube.create(GRANTS, grantFor(sample), FIELD_MANAGERS.gateway);
  }

  /** Sets the status of an object as its controller does. */
  async setStatus(type: ResourceType, key: ObjectKey, status: object): Promise<void> {
    const step = { op: "add" as const, path: "/status", value: status };
    const options = { manager: FIELD_MANAGERS.installer, part: "status" as const };
    await this.kube.jsonPatch(type, key, [step], options);
  }

  /** Renews a heartbeat as a konnector does. */
  async beat(grant: Grant, beat: Beat = {}): Promise<Lease> {
    const {
      connection = grant.metadata.name,
      namespace = boundaryName(grant.spec.identity.subject),
      consumerUid = "0123456789-consumer",
      renewTimeMs,
      spec,
    } = beat;
    const lease = leaseFor({ connection, namespace, consumerUid, renewTimeMs }, spec);
    return await this.kube.apply(LEASES, lease, FIELD_MANAGERS.cli);
  }

  /** Gives a user these rights, and connects as that user once they are in effect. */
  async connectAs(user: string, rules: object[]): Promise<Connected> {
    await allowUser(this.plane, user, rules);
    const connected = await connect(await this.plane.kubeconfigFor(user));
    await eventually(
      `${user} may list Grants`,
      () => connected.kube.list(GRANTS).then(() => true),
    );
    return connected;
  }

  /** Removes the rights of `connectAs`. */
  async removeUsers(...users: string[]): Promise<void> {
    for (const kind of ["clusterrolebinding", "clusterrole"]) {
      await this.plane.kubectl(["delete", "--ignore-not-found", kind, ...users]);
    }
  }

  [Symbol.dispose](): void {
    this.#admin[Symbol.dispose]();
  }
}

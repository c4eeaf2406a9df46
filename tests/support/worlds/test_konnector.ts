import assert from "node:assert/strict";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  type ClusterBinding,
  type KubeObject,
  type Lease,
  LEASES,
  type ResourceType,
  type Secret,
} from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { ANNOTATIONS, FIELD_MANAGERS, LABELS } from "../../../common/api/names.ts";
import { may, type Right, rightText } from "../../../common/kube/rights.ts";
import { customType, leaseFor } from "../planes/issuer_samples.ts";
import { connect, type Connected, temporaryDir } from "../planes/kube.ts";

/** Parses the objects of a YAML text. */
export const objectsIn = (yaml: string): KubeObject[] =>
  parseAllDocuments(yaml).map((document) => document.toJS());

/** Writes to the provider as a konnector does, with only the bundle's kubeconfig. */
export class TestKonnector implements Disposable {
  /** The boundary in the bundle's kubeconfig. */
  readonly boundary: string;
  readonly #connection: string;
  readonly #uid: string;
  readonly #provider: Connected;

  private constructor(connection: string, boundary: string, uid: string, provider: Connected) {
    this.#connection = connection;
    this.boundary = boundary;
    this.#uid = uid;
    this.#provider = provider;
  }

  /** Starts a konnector of a consumer cluster with this UID. */
  static async start(bundle: readonly KubeObject[], uid: string): Promise<TestKonnector> {
    const secret = bundle.find(({ kind }) => kind === "Secret") as Secret | undefined;
    const kubeconfig = secret?.stringData?.["kubeconfig"] ?? assert.fail("no kubeconfig");
    await using dir = await temporaryDir();
    const file = join(dir.path, "kubeconfig");
    await Deno.writeTextFile(file, kubeconfig);
    const boundary = parse(kubeconfig).contexts[0].context.namespace;
    const provider = await connect(file);
    for (const right of rightsOf(bundle, boundary)) {
      const { signal } = new AbortController();
      await eventually(`it may ${rightText(right)}`, () => may(provider.kube, right, signal));
    }
    return new TestKonnector(secret?.metadata.name ?? "", boundary, uid, provider);
  }

  /** A client with the issued credentials. */
  get kube(): KubeClient {
    return this.#provider.kube;
  }

  /** Renews its heartbeat. */
  async beat(leaseDurationSeconds = 60): Promise<Lease> {
    const lease = leaseFor(
      { connection: this.#connection, namespace: this.boundary, consumerUid: this.#uid },
      { leaseDurationSeconds },
    );
    return await this.kube.apply(LEASES, lease, FIELD_MANAGERS.cli);
  }

  /** Tells about its cluster in these annotations of its heartbeat. */
  async tell(annotations: Record<string, string>): Promise<void> {
    const { metadata: { name, namespace = "" } } = await this.beat();
    const key = { name, namespace };
    await this.kube.patchFields(
      LEASES,
      key,
      { metadata: { annotations } },
      FIELD_MANAGERS.konnector,
    );
  }

  /** Copies an object from its consumer to the provider. */
  async sync(
    type: ResourceType,
    namespace: string,
    name: string,
    annotations: Record<string, string> = {},
    content: object = {},
  ): Promise<KubeObject> {
    const apiVersion = type.group ? `${type.group}/${type.version}` : type.version;
    return await this.kube.create(type, {
      apiVersion,
      kind: type.kind,
      metadata: {
        name,
        namespace,
        labels: { [LABELS.managed]: "true" },
        annotations: {
          [ANNOTATIONS.consumerClusterUid]: this.#uid,
          [ANNOTATIONS.consumerObjectUid]: crypto.randomUUID(),
          [ANNOTATIONS.connection]: this.#connection,
          ...annotations,
        },
      },
      ...content,
    }, FIELD_MANAGERS.cli);
  }

  [Symbol.dispose](): void {
    this.#provider[Symbol.dispose]();
  }
}

/** Rights that a bundle gives. They are in effect a moment after the Grant is Ready. */
function rightsOf(bundle: readonly KubeObject[], namespace: string): Right[] {
  const isBinding = ({ kind }: KubeObject) => kind === "ClusterBinding";
  const { apis = [] } = (bundle.find(isBinding) as ClusterBinding | undefined)?.spec ?? {};
  const right = (verb: string, { group, plural }: ResourceType) => ({
    verb,
    group,
    resource: plural,
    namespace,
  });
  return [right("patch", LEASES), ...apis.map(({ name }) => right("list", customType(name)))];
}

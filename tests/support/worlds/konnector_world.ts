import { join } from "node:path";
import { stringify } from "yaml";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import {
  BINDINGS,
  CLUSTER_BINDINGS,
  type ClusterBinding,
  type Connection,
  CONNECTIONS,
  CRDS,
  type CustomResourceDefinition,
  type Grant,
  GRANTS,
  isReady,
  type KubeObject,
  type Secret,
  SECRETS,
} from "../../../common/api/resources.ts";
import { applyObjects } from "../../../common/consumer/apply_objects.ts";
import { konnectorManifest } from "../../../common/consumer/konnector_manifest.ts";
import { type Bundle, bundleFor, providerKubeconfig } from "../../../common/consumer/bundle.ts";
import { grantBundle } from "../../../server/bind/bundle.ts";
import { toYaml } from "../../../common/yaml.ts";
import { FaultProxy } from "../faults/fault_proxy.ts";
import { ownPlane } from "../planes/control_planes.ts";
import { crdFor, customType, EXPORTED, type GrantSample } from "../planes/issuer_samples.ts";
import { konnectorWrites } from "../planes/konnector_writes.ts";
import { accountToken, connect, type Connected, uniqueName } from "../planes/kube.ts";
import { Backend } from "../programs/backend.ts";
import type { DaemonOptions } from "../programs/daemon.ts";
import { Konnector } from "../programs/konnector.ts";
import { say } from "../../../scripts/say.ts";
import { TestProvider } from "./provider.ts";
import { type Place, TwoSides } from "./two_sides.ts";

/** An API that is bound on the consumer. */
export interface Bound extends Place {
  readonly api: string;
  /** The name of Grant, Connection and ClusterBinding. */
  readonly name: string;
  readonly grant: Grant;
  /** Secret, Connection and ClusterBinding. */
  readonly bundle: readonly KubeObject[];
}

/** How an API is bound. */
export interface BindOptions extends GrantSample {
  /** Changes the CRD on the provider. */
  readonly crd?: (crd: CustomResourceDefinition) => CustomResourceDefinition;
  /** Whether the consumer gets the bundle; true by default. */
  readonly isApplied?: boolean;
}

const MANAGER = FIELD_MANAGERS.installer;
/** The issuer has its own planes, so the names of Exports and Grants cannot collide. */
const ISSUER_FLAGS = ["--enable-gateway=false"];

/** What a `KonnectorWorld` is made of. */
interface Parts {
  readonly providerPlane: ControlPlane;
  readonly consumerPlane: ControlPlane;
  readonly providerProxy: FaultProxy;
  readonly consumerProxy: FaultProxy;
  /** The address of the provider in bundles. */
  readonly address: { readonly server: string; readonly caPem: string };
  readonly provider: TestProvider;
  readonly consumer: Connected;
  readonly kubeconfig: string;
  readonly konnector: Konnector;
  readonly stack: AsyncDisposableStack;
}

/**
 * A provider with an issuer and a consumer with a konnector. The konnector has the account of its
 * manifest and the credentials of real Grants, and reaches both API servers through fault proxies.
 */
export class KonnectorWorld extends TwoSides implements AsyncDisposable {
  readonly providerPlane: ControlPlane;
  readonly consumerPlane: ControlPlane;
  readonly providerProxy: FaultProxy;
  readonly consumerProxy: FaultProxy;
  readonly address: Parts["address"];
  readonly kubeconfig: string;
  konnector: Konnector;
  readonly #stack: AsyncDisposableStack;

  private constructor(parts: Parts) {
    super(parts.provider, parts.consumer);
    this.providerPlane = parts.providerPlane;
    this.consumerPlane = parts.consumerPlane;
    this.providerProxy = parts.providerProxy;
    this.consumerProxy = parts.consumerProxy;
    this.address = parts.address;
    this.kubeconfig = parts.kubeconfig;
    this.konnector = parts.konnector;
    this.#stack = parts.stack;
  }

  /** Starts everything. The backend gets these additional flags. */
  static async start(...backendFlags: string[]): Promise<KonnectorWorld> {
    return await KonnectorWorld.#start(backendFlags, { isDirect: false });
  }

  /** Starts everything without proxies in between, for measurements. */
  static async startDirect(): Promise<KonnectorWorld> {
    return await KonnectorWorld.#start([], { isDirect: true });
  }

  static async #start(
    backendFlags: readonly string[],
    { isDirect }: { readonly isDirect: boolean },
  ): Promise<KonnectorWorld> {
    await using made = new AsyncDisposableStack();
    const [providerPlane, consumerPlane] = await Promise.all([
      ownPlane({ name: "provider", auditLog: true }),
      ownPlane({ name: "consumer", auditLog: true }),
    ]);
    made.use(providerPlane);
    made.use(consumerPlane);
    const providerProxy = made.use(await FaultProxy.start(providerPlane, { identity: "caller" }));
    const consumerProxy = made.use(await FaultProxy.start(consumerPlane, { identity: "caller" }));
    const provider = made.use(await TestProvider.of(providerPlane));
    const consumer = made.use(await connect(consumerPlane));
    made.use(await Backend.start(providerPlane, { flags: [...ISSUER_FLAGS, ...backendFlags] }));
    await applyObjects(
      { kube: consumer.kube, signal: AbortSignal.timeout(30_000), failed: (_, error) => error },
      konnectorManifest("registry.example.org/konnector:test"),
      MANAGER,
    );
    const token = await accountToken(consumer.kube, "xbind", "konnector");
    const kubeconfig = join(consumerPlane.dir, "konnector.kubeconfig");
    const [toProvider, toConsumer] = isDirect
      ? [providerPlane, consumerPlane]
      : [providerProxy, consumerProxy];
    const access = { server: toConsumer.server, caData: btoa(toConsumer.caPem), token };
    await Deno.writeTextFile(kubeconfig, stringify(providerKubeconfig(access)));
    const konnector = await Konnector.start(consumerPlane, { kubeconfig });
    await konnector.logged("listening");
    return new KonnectorWorld({
      providerPlane,
      consumerPlane,
      providerProxy,
      consumerProxy,
      address: toProvider,
      provider,
      consumer,
      kubeconfig,
      konnector,
      stack: made.move(),
    });
  }

  /** Kills the konnector, and starts another one. */
  async restart(options: DaemonOptions = {}): Promise<void> {
    await this.kill();
    const { kubeconfig } = this;
    this.konnector = await Konnector.start(this.consumerPlane, { kubeconfig, ...options });
  }

  /** Kills the konnector. */
  async kill(): Promise<void> {
    await this.konnector[Symbol.asyncDispose]();
  }

  /** Offers an API of its own, and gets a Grant for it. By default it is also bound and Ready. */
  async bind(prefix: string, options: BindOptions = {}): Promise<Bound> {
    const { crd = (same) => same, isApplied = true, ...sample } = options;
    const id = uniqueName(prefix);
    const api = `${id.replaceAll("-", "")}s.${prefix}.example.org`;
    const made = crd(crdFor(api, EXPORTED));
    await this.provider.kube.create(CRDS, made, MANAGER);
    const { relatedResources } = sample;
    await this.provider.offerReady(
      id,
      [api],
      relatedResources && { defaults: { relatedResources } },
    );
    const { metadata: { name } } = await this.provider.grant({
      exportName: id,
      apis: [api],
      ...sample,
    });
    const grant = await eventually(`the Grant ${name} is Ready`, async () => {
      const found = await this.provider.kube.get(GRANTS, { name });
      return isReady(found) && found;
    });
    const bundle = await this.bundleOf(grant);
    const namespace = await this.namespace(prefix);
    const namespaced = made.spec.scope === "Namespaced";
    const type = { ...customType(api), kind: made.spec.names.kind, namespaced } as Bound["type"];
    const bound = { api, type, name, grant, namespace, bundle };
    if (!isApplied) return bound;
    await this.apply(bundle);
    await this.ready(bound);
    return bound;
  }

  /** Builds the bundle of a Grant. */
  async bundleOf(grant: Grant): Promise<KubeObject[]> {
    const { namespace = "", tokenSecret = "" } = grant.status ?? {};
    const secret = await this.provider.kube.get(SECRETS, { namespace, name: tokenSecret });
    const { server, caPem } = this.address;
    return grantBundle(grant, secret, {
      externalAddress: server,
      restHost: "",
      externalCaPem: caPem,
    });
  }

  /** Builds a bundle without APIs for an account of the provider. */
  bundleWith(token: string, name: string, namespace = "default"): Bundle {
    const { server, caPem } = this.address;
    const access = { server, caData: btoa(caPem), token, namespace };
    return bundleFor(name, toYaml([providerKubeconfig(access)]), { apis: [] });
  }

  /** Applies objects on the consumer. */
  async apply(objects: readonly KubeObject[]): Promise<void> {
    const writes = { kube: this.consumer.kube, signal: AbortSignal.timeout(30_000) };
    await applyObjects({ ...writes, failed: (_, error) => error }, [...objects], MANAGER);
  }

  /** Waits until Connection and ClusterBinding are Ready. */
  async ready({ name }: Pick<Bound, "name">): Promise<ClusterBinding> {
    await this.isReady(CONNECTIONS, { name });
    return await this.isReady(CLUSTER_BINDINGS, { name }) as ClusterBinding;
  }

  /** Returns the konnector's writes on both sides during `run`, as `verb resource`. */
  async writesDuring(
    run: () => Promise<unknown>,
  ): Promise<Record<"consumer" | "provider", string[]>> {
    const [consumer = [], provider = []] = await konnectorWrites([
      { plane: this.consumerPlane, kube: this.consumer.kube },
      { plane: this.providerPlane, kube: this.provider.kube },
    ], run);
    return { consumer, provider };
  }

  protected override witness(): string {
    return `; the konnector's last lines:\n${this.konnector.lines.slice(-10).join("\n")}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (Deno.env.get("XBIND_TEST_SHOW_LOG")) say(this.konnector.lines.join("\n"));
    await this.kill();
    await this.#stack.disposeAsync();
  }
}

/** The Connection of a bound API. */
export const connectionOf = ({ bundle }: Bound): Connection => bundle[1] as Connection;

/** The ClusterBinding of a bound API. */
export const bindingOf = ({ bundle }: Bound): ClusterBinding => bundle[2] as ClusterBinding;

/** The Secret of a bound API. */
export const secretOf = ({ bundle }: Pick<Bound, "bundle">): Secret => bundle[0] as Secret;

/** A ClusterBinding of these APIs through the Connection of its name. */
export const bindingThrough = (name: string, ...apis: string[]): ClusterBinding => ({
  apiVersion: "core.xbind.io/v1alpha1",
  kind: "ClusterBinding",
  metadata: { name },
  spec: { connectionRef: { name }, apis: apis.map((each) => ({ name: each })) },
});

/** A Binding in a namespace, through the Connection of a bound API. */
export const bindingIn = (namespace: string, { name, api }: Bound, spec: object = {}): KubeObject =>
  ({
    apiVersion: "core.xbind.io/v1alpha1",
    kind: BINDINGS.kind,
    metadata: { name, namespace },
    spec: { connectionRef: { name }, apis: [{ name: api }], ...spec },
  }) as KubeObject;

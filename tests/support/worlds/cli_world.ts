import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import type { AuditEvent } from "../../../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CLUSTER_BINDINGS,
  type Condition,
  CONNECTIONS,
  CRDS,
  type KubeObject,
  type ResourceType,
  SECRETS,
  SERVICE_ACCOUNTS,
} from "../../../common/api/resources.ts";
import type { Identity } from "../../../common/api/wire.ts";
import { providerKubeconfig } from "../../../common/consumer/bundle.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { ANNOTATIONS, FIELD_MANAGERS, grantName, LABELS } from "../../../common/api/names.ts";
import { toYaml } from "../../../common/yaml.ts";
import { type CliOptions, type CliResult, CliUser } from "../programs/cli.ts";
import { Konnector } from "../programs/konnector.ts";
import { ownPlane } from "../planes/control_planes.ts";
import { Gateway } from "./gateway_world.ts";
import { TestProvider } from "./provider.ts";
import { crdFor, customType, readyCondition, WIDGETS } from "../planes/issuer_samples.ts";
import { accountToken, connect, type Connected } from "../planes/kube.ts";
import { eventsDuring } from "../planes/requests_during.ts";

/** The konnector image that the gateway serves. */
export const SERVED_IMAGE = "registry.example.org/konnector:served";

/** The names of the konnector's objects in the output, in order. */
export const KONNECTOR = [
  "CustomResourceDefinition/bindings.core.xbind.io",
  "CustomResourceDefinition/clusterbindings.core.xbind.io",
  "CustomResourceDefinition/connections.core.xbind.io",
  "Namespace/xbind",
  "ServiceAccount/konnector",
  "ClusterRole/konnector",
  "ClusterRoleBinding/konnector",
  "Role/konnector-leaderelection",
  "RoleBinding/konnector-leaderelection",
  "Deployment/konnector",
];

const WRITES = ["create", "update", "patch", "delete", "deletecollection"];
/** Returns whether a request is a dry run, which stores nothing. */
const isDryRun = ({ requestURI }: AuditEvent): boolean => requestURI.includes("dryRun=");
const isReview = ({ objectRef }: AuditEvent): boolean =>
  objectRef?.resource?.startsWith("selfsubject") ?? false;

/** A provider with one Ready Export, an empty consumer, and a user who is logged in. */
export class CliWorld implements AsyncDisposable {
  readonly exportName = "widgets";
  /** The name of the user's Grant of that Export. */
  readonly grant: string;

  private constructor(
    readonly providerPlane: ControlPlane,
    readonly consumerPlane: ControlPlane,
    readonly gateway: Gateway,
    readonly provider: TestProvider,
    readonly user: CliUser,
    readonly token: string,
    subject: string,
    private readonly consumer: Connected,
  ) {
    this.grant = grantName(this.exportName, subject);
  }

  /** Starts everything. The gateway gets these additional flags. */
  static async start(...flags: string[]): Promise<CliWorld> {
    await using made = new AsyncDisposableStack();
    const [providerPlane, consumerPlane] = await Promise.all([
      ownPlane(),
      ownPlane({ auditLog: true, controllerManager: false }),
    ]);
    made.use(providerPlane);
    made.use(consumerPlane);
    const image = `--konnector-image=${SERVED_IMAGE}`;
    const gateway = made.use(await Gateway.start(providerPlane, { flags: [image, ...flags] }));
    const provider = made.use(await TestProvider.of(providerPlane));
    const user = made.use(await CliUser.create());
    const consumer = made.use(await connect(consumerPlane));
    const { token } = await gateway.login();
    const { subject } = await gateway.read<Identity>(token, "/api/me");
    await user.saveSession(gateway.url, token);
    const world = new CliWorld(
      providerPlane,
      consumerPlane,
      gateway,
      provider,
      user,
      token,
      subject,
      consumer,
    );
    await provider.define(WIDGETS);
    if (flags.includes("--enable-issuer=false")) {
      await provider.judge(await provider.offer(world.exportName, [WIDGETS]));
    } else await provider.offerReady(world.exportName, [WIDGETS]);
    made.move();
    return world;
  }

  /** An administrator's client of the consumer. */
  get kube(): KubeClient {
    return this.consumer.kube;
  }

  /** Runs `kubectl bind` as the user, on the consumer unless `KUBECONFIG` is set. */
  async bind(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    return await this.user.run(args, { ...options, env: this.#env(options.env) });
  }

  /** Starts `kubectl bind` in the same way. */
  startBind(args: readonly string[]) {
    return this.user.start(args, { stdin: "", env: this.#env() });
  }

  /** Starts the konnector with the account that `kubectl bind` installed. */
  async startKonnector(...flags: string[]): Promise<Konnector> {
    await eventually("the account is installed", async () => {
      return await this.kube.find(SERVICE_ACCOUNTS, { namespace: "xbind", name: "konnector" });
    });
    const token = await accountToken(this.kube, "xbind", "konnector");
    const { server, caPem, dir } = this.consumerPlane;
    const kubeconfig = join(dir, "konnector.kubeconfig");
    const access = { server, caData: btoa(caPem), token };
    await Deno.writeTextFile(kubeconfig, toYaml([providerKubeconfig(access)]));
    return await Konnector.start(this.consumerPlane, { kubeconfig, flags });
  }

  /** Runs the real kubectl, with the plugin on its PATH. */
  async kubectl(args: readonly string[]): Promise<CliResult> {
    const { kubectlPath } = this.consumerPlane;
    return await this.user.runWithPlugin(kubectlPath, args, { env: this.#env() });
  }

  /** Runs a line of shell in the user's home, with the real kubectl. */
  async shell(line: string): Promise<CliResult> {
    const PATH = `${dirname(this.consumerPlane.kubectlPath)}:/usr/local/bin:/usr/bin:/bin`;
    return await this.user.runWithPlugin("/bin/sh", ["-c", line], { env: this.#env({ PATH }) });
  }

  /** Runs `kubectl bind`, which must succeed, and returns its lines. */
  async lines(args: readonly string[], options: CliOptions = {}): Promise<string[]> {
    const { code, stdout, stderr } = await this.bind(args, options);
    assert.equal(code, 0, stderr);
    return stdout.split("\n").slice(0, -1);
  }

  /** Asserts that a command line fails with this code and these words, and returns stderr. */
  async fails(args: readonly string[], code: number, words: RegExp, options: CliOptions = {}) {
    const result = await this.bind(args, options);
    assert.equal(result.code, code, `${args.join(" ")}: ${result.stderr}`);
    assert.match(result.stderr, words);
    return result.stderr;
  }

  /** The names of the bundle's objects in the output, in order. */
  get bundle(): string[] {
    return ["Secret", "Connection", "ClusterBinding"].map((kind) => `${kind}/${this.grant}`);
  }

  /** Finds an object of the bundle on the consumer. */
  async bound(type: ResourceType): Promise<KubeObject | undefined> {
    const namespace = type.namespaced ? { namespace: "xbind" } : {};
    return await this.kube.find(type, { name: this.grant, ...namespace });
  }

  /** Returns the kinds of the bundle that exist on the consumer. */
  async boundKinds(): Promise<string[]> {
    const types: ResourceType[] = [SECRETS, CONNECTIONS, CLUSTER_BINDINGS];
    const found = await Promise.all(types.map((type) => this.bound(type)));
    return found.flatMap((object) => object ? [object.kind] : []);
  }

  /** Returns the writes of `kubectl bind` to the consumer during `run`, as `verb resource/name`. */
  async writesDuring(run: () => Promise<unknown>): Promise<string[]> {
    return (await this.#requestsDuring(run))
      .filter((event) => WRITES.includes(event.verb) && !isReview(event) && !isDryRun(event))
      .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}/${objectRef?.name ?? ""}`);
  }

  /** Counts the requests of `kubectl bind` to the consumer during `run`. */
  async requestsDuring(run: () => Promise<unknown>): Promise<number> {
    return (await this.#requestsDuring(run)).length;
  }

  /** Plays the konnector: installs the Export's CRD, with these objects in `default`. */
  async pull(names: readonly string[]): Promise<void> {
    const crd = crdFor(WIDGETS, { [LABELS.managed]: "true" });
    crd.metadata.annotations = { [ANNOTATIONS.connection]: this.grant };
    await this.kube.apply(CRDS, crd, FIELD_MANAGERS.konnector);
    const type = customType(WIDGETS);
    for (const name of names) {
      const metadata = { name, namespace: "default" };
      const widget = { apiVersion: "example.org/v1", kind: type.kind, metadata };
      await eventually(`${name} can be made`, () => {
        return this.kube.create(type, widget, FIELD_MANAGERS.installer);
      });
    }
  }

  /** Runs `kubectl bind` on a terminal after `delay` seconds, and types these answers at once. */
  async onTerminal(args: readonly string[], answers: string, delay = 0): Promise<CliResult> {
    const kubectl = [this.consumerPlane.kubectlPath, "bind", ...args].join(" ");
    const line = `sleep ${delay}; ${kubectl}`;
    const terminal = ["-qec", line, "/dev/null"];
    const env = this.#env({ TERM: "dumb" });
    return await this.user.runWithPlugin("/usr/bin/script", terminal, { env, stdin: answers });
  }

  /** Plays the konnector: sets Ready of an object at its current generation. */
  async judge(type: ResourceType, status: Condition["status"], message: string): Promise<void> {
    const object = await eventually(`${type.kind} ${this.grant} is there`, () => this.bound(type));
    await this.judgeFound(type, object, status, message);
  }

  /** Sets Ready of an object that was just read. */
  async judgeFound(
    type: ResourceType,
    found: KubeObject,
    status: Condition["status"],
    message: string,
  ): Promise<void> {
    const { apiVersion, kind } = found;
    const reason = status === "True" ? "AsExpected" : "Unreachable";
    const applied = {
      apiVersion,
      kind,
      metadata: { name: this.grant },
      status: { conditions: [readyCondition(found, { status, reason, message })] },
    };
    await this.kube.applyStatus(type, applied, FIELD_MANAGERS.issuer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.consumer[Symbol.dispose]();
    this.provider[Symbol.dispose]();
    await this.user[Symbol.asyncDispose]();
    await this.gateway[Symbol.asyncDispose]();
    await this.consumerPlane[Symbol.asyncDispose]();
    await this.providerPlane[Symbol.asyncDispose]();
  }

  #env(env: Readonly<Record<string, string>> = {}): Record<string, string> {
    return { KUBECONFIG: this.consumerPlane.adminKubeconfig, ...env };
  }

  async #requestsDuring(run: () => Promise<unknown>): Promise<AuditEvent[]> {
    const consumer = { plane: this.consumerPlane, kube: this.kube };
    const [events = []] = await eventsDuring([consumer], run);
    return events.filter(({ userAgent }) => userAgent?.startsWith("kubectl-bind/") ?? false);
  }
}

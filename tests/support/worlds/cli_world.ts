import assert from "node:assert/strict";
import { dirname } from "node:path";
import { type AuditEvent, auditEvents } from "../../../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import {
  CLUSTER_BINDINGS,
  type Condition,
  CONNECTIONS,
  type KubeObject,
  NAMESPACES,
  type ResourceType,
  SECRETS,
} from "../../../common/api/resources.ts";
import type { Identity } from "../../../common/api/wire.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { isNotFound } from "../../../common/kube/kube_error.ts";
import { FIELD_MANAGERS, grantName } from "../../../common/api/names.ts";
import { type CliOptions, type CliResult, CliUser } from "../programs/cli.ts";
import { ownPlane } from "../planes/control_planes.ts";
import { Gateway } from "./gateway_world.ts";
import { TestProvider } from "./provider.ts";
import { readyCondition, WIDGETS } from "../planes/issuer_samples.ts";
import { connect, type Connected, uniqueName } from "../planes/kube.ts";

/** The image that the gateway of a world serves. */
export const SERVED_IMAGE = "registry.example.org/konnector:served";

/** The konnector's objects as results name them, in order. */
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
/** Stores nothing. */
const isRehearsal = ({ requestURI }: AuditEvent): boolean => requestURI.includes("dryRun=");
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

  /** Boots everything; the gateway gets these flags besides. */
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

  /** A client of the consumer as its administrator. */
  get kube(): KubeClient {
    return this.consumer.kube;
  }

  /** Runs `kubectl bind` as the user, on the consumer unless `KUBECONFIG` says otherwise. */
  async bind(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    return await this.user.run(args, { ...options, env: this.#env(options.env) });
  }

  /** Starts `kubectl bind` in the same way. */
  startBind(args: readonly string[]) {
    return this.user.start(args, { stdin: "", env: this.#env() });
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

  /** The lines of what must have succeeded. */
  async lines(args: readonly string[], options: CliOptions = {}): Promise<string[]> {
    const { code, stdout, stderr } = await this.bind(args, options);
    assert.equal(code, 0, stderr);
    return stdout.split("\n").slice(0, -1);
  }

  /** Checks that a command line fails with this code and these words; gives stderr. */
  async fails(args: readonly string[], code: number, words: RegExp, options: CliOptions = {}) {
    const result = await this.bind(args, options);
    assert.equal(result.code, code, `${args.join(" ")}: ${result.stderr}`);
    assert.match(result.stderr, words);
    return result.stderr;
  }

  /** The bundle's objects as results name them, in order. */
  get bundle(): string[] {
    return ["Secret", "Connection", "ClusterBinding"].map((kind) => `${kind}/${this.grant}`);
  }

  /** An object of the bundle on the consumer, if it is there. */
  async bound(type: ResourceType): Promise<KubeObject | undefined> {
    const namespace = type.namespaced ? { namespace: "xbind" } : {};
    return await this.kube.find(type, { name: this.grant, ...namespace });
  }

  /** The kinds of the bundle that are on the consumer. */
  async boundKinds(): Promise<string[]> {
    const types: ResourceType[] = [SECRETS, CONNECTIONS, CLUSTER_BINDINGS];
    const found = await Promise.all(types.map((type) => this.bound(type)));
    return found.flatMap((object) => object ? [object.kind] : []);
  }

  /** What `kubectl bind` wrote to the consumer while `run` ran, as `verb resource/name`. */
  async writesDuring(run: () => Promise<unknown>): Promise<string[]> {
    const before = (await this.#requests()).length;
    await run();
    await this.#settled();
    return (await this.#requests()).slice(before)
      .filter((event) => WRITES.includes(event.verb) && !isReview(event) && !isRehearsal(event))
      .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}/${objectRef?.name ?? ""}`);
  }

  /** How many requests of `kubectl bind` the consumer got while `run` ran. */
  async requestsDuring(run: () => Promise<unknown>): Promise<number> {
    const before = (await this.#requests()).length;
    await run();
    await this.#settled();
    return (await this.#requests()).length - before;
  }

  /** Plays the konnector: sets Ready of an object, at its present generation. */
  async judge(type: ResourceType, status: Condition["status"], message: string): Promise<void> {
    const object = await eventually(`${type.kind} ${this.grant} is there`, () => this.bound(type));
    await this.judgeFound(type, object, status, message);
  }

  /** The same for an object that was just read. */
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

  #requests(): Promise<AuditEvent[]> {
    return auditEvents(
      this.consumerPlane,
      ({ userAgent, stage }) =>
        stage === "ResponseComplete" && (userAgent?.startsWith("kubectl-bind/") ?? false),
    );
  }

  /** Waits until the audit log has caught up with everything before now. */
  async #settled(): Promise<void> {
    const name = uniqueName("mark");
    await this.kube.get(NAMESPACES, { name }).catch((error) => assert.ok(isNotFound(error)));
    await eventually("the audit log is up to date", async () => {
      const seen = await auditEvents(
        this.consumerPlane,
        ({ objectRef }) => objectRef?.name === name,
      );
      return seen.length > 0;
    });
  }
}

import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { controlPlaneBinaries } from "./binaries.ts";
import { bootControlPlane, type Booted, isApiReady, writeSecret } from "./boot_control_plane.ts";
import {
  type Certificate,
  issueClientCertificate,
  type ServerKey,
  type Validity,
} from "./certificates.ts";
import { type ControllerManagerLimits, ETCD_SOCKET, FILES } from "./command_lines.ts";
import type { ControlledProcess } from "./controlled_process.ts";
import { eventually } from "./eventually.ts";
import { Guard, putOnRecord } from "./guard.ts";
import { kubeconfigFileName, kubeconfigFor } from "./kubeconfig.ts";

/** How a control plane is started; everything has a default. */
export interface ControlPlaneOptions {
  /** Shown in kubeconfigs and in the directory's name: lower-case letters, digits and dashes. */
  name?: string;
  /** Keeps a log of all requests, see `auditEvents`. */
  auditLog?: boolean;
  /** Runs kube-controller-manager (the default), with the given client limits. */
  controllerManager?: boolean | ControllerManagerLimits;
  /** Further flags of kube-apiserver. */
  apiServerArgs?: string[];
  /** The kind of the API server's key; P-256 by default. */
  serverKey?: ServerKey;
  /**
   * The directory for its files. It must not exist, and is removed at the end together with an
   * empty parent. By default a new one under the system's temporary directory.
   */
  dir?: string;
}

/** The result of a kubectl run. */
export interface KubectlResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** The input of a kubectl run; it has admin rights by default. */
export interface KubectlOptions {
  stdin?: string;
  kubeconfig?: string;
  env?: Record<string, string>;
}

/** The facts that another process needs to attach. */
interface Description {
  name: string;
  server: string;
  auditLog: boolean;
  kubectl: string;
}

/** The longest path of a unix socket on any system. */
const MAX_SOCKET_PATH = 103;

const planeDir = ({ name = "plane", dir }: ControlPlaneOptions): string => {
  if (!/^[a-z0-9-]{1,30}$/.test(name)) {
    throw new Error(
      `Cannot start a control plane named "${name}": use a-z, 0-9 and dashes, up to 30`,
    );
  }
  const random = crypto.randomUUID().slice(0, 8);
  const path = resolve(dir ?? join(tmpdir(), `xbind-${name}-${random}`));
  if (join(path, ETCD_SOCKET).length > MAX_SOCKET_PATH) {
    throw new Error(`Cannot start a control plane in "${path}": the path is too long for a socket`);
  }
  return path;
};

/** A real Kubernetes control plane on this machine; it ends with our process. */
export class ControlPlane implements AsyncDisposable {
  readonly #description: Description;
  readonly #authority: Certificate;
  readonly #own: { guard: Guard; booted: Booted } | undefined;
  /** The directory with all its files; `attach` takes it. */
  readonly dir: string;
  /** Path of a kubeconfig that may do everything. */
  readonly adminKubeconfig: string;

  private constructor(
    dir: string,
    description: Description,
    authority: Certificate,
    own?: { guard: Guard; booted: Booted },
  ) {
    this.dir = dir;
    this.adminKubeconfig = join(dir, FILES.adminKubeconfig);
    this.#description = description;
    this.#authority = authority;
    this.#own = own;
  }

  /** Boots a control plane; when it resolves the API is ready. */
  static async start(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
    const { name = "plane", auditLog = false, controllerManager = true } = options;
    const dir = planeDir(options);
    const binaries = await controlPlaneBinaries();
    const guard = await Guard.start(dir, { andParent: options.dir !== undefined });
    try {
      const booted = await bootControlPlane(guard, binaries, {
        name,
        auditLog,
        controllerManager: controllerManager === true ? {} : controllerManager,
        apiServerArgs: options.apiServerArgs ?? [],
        serverKey: options.serverKey ?? "P-256",
      });
      const { server, authority } = booted;
      const description = { name, server, auditLog, kubectl: binaries.kubectl };
      const plane = new ControlPlane(dir, description, authority, { guard, booted });
      await plane.#writeKubeconfig("admin", ["system:masters"], plane.adminKubeconfig);
      await writeSecret(join(dir, FILES.description), JSON.stringify(description));
      return plane;
    } catch (error) {
      await guard[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Uses a control plane that another process started, without control of its processes. */
  static async attach(dir: string): Promise<ControlPlane> {
    const path = resolve(dir);
    const read = (name: string) => Deno.readTextFile(join(path, name));
    try {
      const description: Description = JSON.parse(await read(FILES.description));
      const authority = { cert: await read(FILES.caCert), key: await read(FILES.caKey) };
      return new ControlPlane(path, description, authority);
    } catch (cause) {
      throw new Error(`Cannot attach to "${path}": no control plane runs there`, { cause });
    }
  }

  get name(): string {
    return this.#description.name;
  }

  /** Such as `https://127.0.0.1:23456`; stays the same over restarts. */
  get server(): string {
    return this.#description.server;
  }

  /** The certificate authority of the API server and of its users' certificates. */
  get caPem(): string {
    return this.#authority.cert;
  }

  /** Path of the audit log, if one was asked for. */
  get auditLog(): string | undefined {
    return this.#description.auditLog ? join(this.dir, FILES.auditLog) : undefined;
  }

  /** Path of the kubectl that belongs to it. */
  get kubectlPath(): string {
    return this.#description.kubectl;
  }

  get etcd(): ControlledProcess {
    return this.#booted().etcd;
  }

  get apiServer(): ControlledProcess {
    return this.#booted().apiServer;
  }

  get controllerManager(): ControlledProcess {
    const { controllerManager } = this.#booted();
    if (controllerManager) return controllerManager;
    throw new Error(`Cannot control kube-controller-manager: "${this.name}" runs without it`);
  }

  /** Waits until the API is ready again, as after a restart of etcd. */
  async ready(): Promise<void> {
    const client = await issueClientCertificate(this.#authority, "probe", ["system:masters"]);
    const target = { server: this.server, caPem: this.caPem, client };
    await eventually(`${this.name} is ready`, () => isApiReady(target), { timeoutMs: 60_000 });
  }

  /** A client certificate for any user; by default it is valid for years. */
  async userCertificate(
    user: string,
    groups: string[] = [],
    validity?: Validity,
  ): Promise<Certificate> {
    return await issueClientCertificate(this.#authority, user, groups, validity);
  }

  /** Path of a kubeconfig for any user, with a client certificate. */
  async kubeconfigFor(user: string, groups: string[] = []): Promise<string> {
    const path = join(this.dir, await kubeconfigFileName("user", user, ...groups));
    return await this.#writeKubeconfig(user, groups, path);
  }

  /** Path of a kubeconfig with a token of an existing ServiceAccount, for 30 days. */
  async kubeconfigForServiceAccount(namespace: string, name: string): Promise<string> {
    const args = ["create", "token", name, "-n", namespace, "--duration=720h"];
    const { code, stdout, stderr } = await this.kubectl(args);
    if (code !== 0) {
      throw new Error(`Cannot get a token for "${namespace}/${name}": ${stderr.trim()}`);
    }
    const path = join(this.dir, await kubeconfigFileName("account", namespace, name));
    const user = `system:serviceaccount:${namespace}:${name}`;
    const { name: cluster, server, caPem } = this;
    const credentials = { token: stdout.trim() };
    await writeSecret(
      path,
      kubeconfigFor({ cluster, server, caPem, user, credentials, namespace }),
    );
    return path;
  }

  /** Runs kubectl to its end, whatever its exit code. */
  async kubectl(args: string[], options: KubectlOptions = {}): Promise<KubectlResult> {
    const child = new Deno.Command(this.kubectlPath, {
      args,
      env: {
        KUBECONFIG: options.kubeconfig ?? this.adminKubeconfig,
        KUBECACHEDIR: join(this.dir, "kubectl-cache"), // ports come back, so must not be remembered
        KUBERC: "off",
        ...options.env,
      },
      stdin: options.stdin === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    if (options.stdin !== undefined) {
      const input = new Blob([options.stdin]).stream();
      await input.pipeTo(child.stdin).catch(() => {}); // it may end without reading all
    }
    const { code, stdout, stderr } = await child.output();
    const text = (octets: Uint8Array) => new TextDecoder().decode(octets);
    return { code, stdout: text(stdout), stderr: text(stderr) };
  }

  /** Lets a process that was started `detached` end with the control plane, attached or not. */
  adopt(name: string, child: Deno.ChildProcess): void {
    putOnRecord(this.dir, name, child);
  }

  /** Kills everything and removes the directory; an attached control plane is left alone. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#own?.guard[Symbol.asyncDispose]();
  }

  #booted(): Booted {
    if (this.#own) return this.#own.booted;
    throw new Error(`Cannot control the processes of "${this.name}": another process started it`);
  }

  async #writeKubeconfig(user: string, groups: string[], path: string): Promise<string> {
    const { name: cluster, server, caPem } = this;
    const credentials = await this.userCertificate(user, groups);
    await writeSecret(path, kubeconfigFor({ cluster, server, caPem, user, credentials }));
    return path;
  }
}

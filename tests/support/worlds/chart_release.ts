import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { kubeconfigFor } from "../../../scripts/controlplane/kubeconfig.ts";
import { type KubeObject, NAMESPACES, SECRETS } from "../../../common/api/resources.ts";
import type { KubeClient } from "../../../common/kube/client.ts";
import { FIELD_MANAGERS } from "../../../common/api/names.ts";
import { Backend } from "../programs/backend.ts";
import {
  CHART,
  containerOf,
  deploymentOf,
  type EnvVar,
  helm,
  render,
  rulesOf,
  type Values,
} from "./chart.ts";
import type { FaultProxy } from "../faults/fault_proxy.ts";
import { sessionKeys } from "./gateway_world.ts";
import { accountToken, connect } from "../planes/kube.ts";
import { isHeld, type Right, rightsIn } from "../planes/used_rights.ts";

/** Replaces the ports of a pod by free ports: the last flag of a name counts. */
const FREE_PORTS = ["listen-address", "metrics-bind-address", "health-probe-bind-address"]
  .map((flag) => `--${flag}=127.0.0.1:0`);
const COOKIE_KEYS = "cookie-keys";

/** A release installed by Helm, whose backend runs on this machine as its ServiceAccount. */
export class ChartRelease {
  readonly plane: ControlPlane;
  readonly namespace: string;
  readonly objects: readonly KubeObject[];

  private constructor(plane: ControlPlane, namespace: string, objects: readonly KubeObject[]) {
    this.plane = plane;
    this.namespace = namespace;
    this.objects = objects;
  }

  /** Installs a release in a namespace of its name, and waits until its rights are in effect. */
  static async install(plane: ControlPlane, name: string, given: Values): Promise<ChartRelease> {
    using admin = await connect(plane);
    await makeKeys(admin.kube, name);
    const values = { ...given, extraArgs: FREE_PORTS, "cookieKeys.existingSecret": COOKIE_KEYS };
    const install = ["install", name, CHART, `--namespace=${name}`];
    const { code, stderr } = await helm(install, values, plane.adminKubeconfig);
    assert.equal(code, 0, stderr);
    const objects = await render(values, { name, namespace: name });
    const release = new ChartRelease(plane, name, objects);
    await release.#hasRights(admin.kube);
    return release;
  }

  /** The user name, such as `system:serviceaccount:xbind:xbind-backend`. */
  get user(): string {
    return `system:serviceaccount:${this.namespace}:${this.#account}`;
  }

  /** All rights of the release. */
  get rights(): readonly Right[] {
    return rightsIn(rulesOf(this.objects), this.namespace);
  }

  /** Starts the backend with the rendered arguments and variables, optionally behind a proxy. */
  async start(through?: FaultProxy): Promise<Backend> {
    using admin = await connect(this.plane);
    const token = await accountToken(admin.kube, this.namespace, this.#account);
    const kubeconfig = await through?.kubeconfig({ token }) ?? await this.#kubeconfig(token);
    const { args, env } = containerOf(this.objects);
    const variables = await Promise.all(
      env.map(async (each) => [each.name, await this.#resolve(admin.kube, each)]),
    );
    const given = { ...Object.fromEntries(variables), KUBECONFIG: kubeconfig };
    return await Backend.spawn(this.plane, args, given);
  }

  /** Writes a kubeconfig of its ServiceAccount, and returns the path. */
  async kubeconfig(): Promise<string> {
    using admin = await connect(this.plane);
    return await this.#kubeconfig(await accountToken(admin.kube, this.namespace, this.#account));
  }

  get #account(): string {
    return deploymentOf(this.objects).spec.template.spec.serviceAccountName;
  }

  async #kubeconfig(token: string): Promise<string> {
    const { server, caPem, dir } = this.plane;
    const path = `${dir}/${this.namespace}.kubeconfig`;
    const parts = { cluster: "provider", server, caPem, user: "backend", credentials: { token } };
    await Deno.writeTextFile(path, kubeconfigFor(parts), { mode: 0o600 });
    return path;
  }

  /** Returns the value of a variable as the kubelet sets it. */
  async #resolve(kube: KubeClient, { name, value, valueFrom }: EnvVar): Promise<string> {
    if (value !== undefined) return value;
    if (valueFrom?.fieldRef?.fieldPath === "metadata.namespace") return this.namespace;
    const { name: secretName = "", key = "" } = valueFrom?.secretKeyRef ?? {};
    const secret = await kube.get(SECRETS, { name: secretName, namespace: this.namespace });
    const data = secret.data?.[key] ?? assert.fail(`no ${key} for ${name}`);
    return new TextDecoder().decode(Uint8Array.fromBase64(data));
  }

  /** Waits until the roles are in effect, which takes a moment. */
  async #hasRights(kube: KubeClient): Promise<void> {
    for (const right of this.rights) {
      const { verb, resource } = right;
      await eventually(
        `${this.user} may ${verb} ${resource}`,
        () => isHeld(kube, this.user, right),
      );
    }
  }
}

/** Creates the namespace of a release, and the Secret with cookie keys. */
async function makeKeys(kube: KubeClient, namespace: string): Promise<void> {
  const { XBIND_COOKIE_SIGNING_KEY = "", XBIND_COOKIE_ENCRYPTION_KEY = "" } = sessionKeys().env;
  const place = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  await kube.create(NAMESPACES, place, FIELD_MANAGERS.installer);
  await kube.create(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: COOKIE_KEYS, namespace },
    stringData: {
      "signing-key": XBIND_COOKIE_SIGNING_KEY,
      "encryption-key": XBIND_COOKIE_ENCRYPTION_KEY,
    },
  }, FIELD_MANAGERS.installer);
}

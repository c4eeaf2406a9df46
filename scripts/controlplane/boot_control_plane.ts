import { join } from "node:path";
import type { Binaries } from "./binaries.ts";
import {
  type Certificate,
  createAuthority,
  createSigningKey,
  issueClientCertificate,
  issueServerCertificate,
  type ServerKey,
} from "./certificates.ts";
import {
  apiServerArgs,
  AUDIT_POLICY,
  controllerManagerArgs,
  type ControllerManagerLimits,
  ETCD_SOCKET,
  etcdArgs,
  FILES,
} from "./command_lines.ts";
import { ControlledProcess } from "./controlled_process.ts";
import { freePort } from "./free_port.ts";
import type { Guard } from "./guard.ts";
import { kubeconfigFor } from "./kubeconfig.ts";
import { probe, probeSocket, type ProbeTarget } from "./probe.ts";

/** The options of a control plane. */
export interface BootOptions {
  name: string;
  auditLog: boolean;
  controllerManager: ControllerManagerLimits | false;
  apiServerArgs: string[];
  serverKey: ServerKey;
}

/** A booted control plane's processes and address. */
export interface Booted {
  server: string;
  authority: Certificate;
  etcd: ControlledProcess;
  apiServer: ControlledProcess;
  controllerManager: ControlledProcess | undefined;
}

/** The names under which clients on this machine reach the API server. */
const SERVER_NAMES: [string, ...string[]] = ["localhost", "127.0.0.1", "::1"];
const PORT_TRIES = 5;
const DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default";

/** Writes a file that only its owner can read. */
export const writeSecret = (path: string, text: string): Promise<void> =>
  Deno.writeTextFile(path, text, { mode: 0o600 });

const writeFiles = async (dir: string, key: ServerKey): Promise<Certificate> => {
  const authority = await createAuthority("xbind control plane");
  const server = await issueServerCertificate(authority, SERVER_NAMES, { key });
  const tokenKey = await createSigningKey();
  const files = {
    [FILES.caCert]: authority.cert,
    [FILES.caKey]: authority.key,
    [FILES.serverCert]: server.cert,
    [FILES.serverKey]: server.key,
    [FILES.tokenPublicKey]: tokenKey.publicKey,
    [FILES.tokenPrivateKey]: tokenKey.privateKey,
    [FILES.auditPolicy]: JSON.stringify(AUDIT_POLICY),
  };
  for (const [name, text] of Object.entries(files)) await writeSecret(join(dir, name), text);
  return authority;
};

/** True when the API server is ready and the namespaces that every cluster has are there. */
export const isApiReady = async (target: ProbeTarget): Promise<boolean> => {
  for (const path of ["/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"]) {
    if (await probe(target, path) !== 200) return false;
  }
  return true;
};

const startApiServer = async (
  guard: Guard,
  command: string,
  options: BootOptions,
  target: Omit<ProbeTarget, "server">,
): Promise<{ server: string; apiServer: ControlledProcess }> => {
  for (let tries = 1;; tries++) {
    const port = freePort();
    const server = `https://127.0.0.1:${port}`;
    const apiServer = new ControlledProcess(guard, {
      name: "kube-apiserver",
      command,
      args: apiServerArgs({ port, auditLog: options.auditLog, extra: options.apiServerArgs }),
      isReady: () => isApiReady({ ...target, server }),
    });
    try {
      await apiServer.start();
      return { server, apiServer };
    } catch (error) {
      const taken = (await apiServer.output()).includes("address already in use");
      if (!taken || tries === PORT_TRIES) throw error;
    }
  }
};

const startControllerManager = async (
  guard: Guard,
  command: string,
  limits: ControllerManagerLimits,
  target: ProbeTarget,
): Promise<ControlledProcess> => {
  const { server, caPem, client: credentials } = target;
  const user = "system:kube-controller-manager";
  await writeSecret(
    join(guard.dir, FILES.controllerManagerKubeconfig),
    kubeconfigFor({ cluster: "local", server, caPem, user, credentials }),
  );
  const controllerManager = new ControlledProcess(guard, {
    name: "kube-controller-manager",
    command,
    args: controllerManagerArgs(limits),
    // It serves no endpoint, so wait for its first ServiceAccount, unless the API is down.
    isReady: async () => await probe(target, DEFAULT_ACCOUNT) !== 404,
  });
  await controllerManager.start();
  return controllerManager;
};

/** Starts the processes in the guard's directory; returns them once the API is ready. */
export const bootControlPlane = async (
  guard: Guard,
  binaries: Binaries,
  options: BootOptions,
): Promise<Booted> => {
  const etcd = new ControlledProcess(guard, {
    name: "etcd",
    command: binaries.etcd,
    args: etcdArgs(),
    isReady: () => probeSocket(join(guard.dir, ETCD_SOCKET), "/health"),
  });
  // etcd needs no certificate, so it starts while they are made.
  const [, authority] = await Promise.all([
    etcd.start(),
    writeFiles(guard.dir, options.serverKey),
  ]);
  const caPem = authority.cert;
  const clientFor = (user: string) => issueClientCertificate(authority, user, ["system:masters"]);
  const { server, apiServer } = await startApiServer(guard, binaries["kube-apiserver"], options, {
    caPem,
    client: await clientFor("probe"),
  });
  const controllerManager = options.controllerManager &&
    await startControllerManager(
      guard,
      binaries["kube-controller-manager"],
      options.controllerManager,
      { server, caPem, client: await clientFor("system:kube-controller-manager") },
    );
  return { server, authority, etcd, apiServer, controllerManager: controllerManager || undefined };
};

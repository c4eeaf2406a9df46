import path from "node:path";
import { ConfigFileError, type KubeTarget } from "./kube_target.ts";
import { type KubeconfigFile, targetFromKubeconfig } from "./kubeconfig.ts";

/** The folder in which Kubernetes mounts the account of a pod. */
export const SERVICE_ACCOUNT_DIR = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Places to look for a cluster. */
export interface TargetQuery {
  /** An explicit file. If set, no other is read. */
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * A process in a cluster means that cluster (`account-first`). A person at a terminal means their
   * own file, even inside a pod (`file-first`, as kubectl does).
   */
  readonly order: "account-first" | "file-first";
  /** The folder of the mounted ServiceAccount, for tests. */
  readonly accountDir?: string;
}

/** Finds the cluster and user. Throws an error that lists the places it looked at. */
export async function loadTarget(query: TargetQuery): Promise<KubeTarget> {
  const { env } = query;
  const context = query.context ?? "";
  if (query.kubeconfig) {
    return targetFromKubeconfig([await readKubeconfig(query.kubeconfig)], context);
  }
  if (env["KUBECONFIG"]) {
    const paths = [...new Set(env["KUBECONFIG"].split(path.delimiter).filter(Boolean))];
    const files = await readExisting(paths);
    if (files.length > 0) return targetFromKubeconfig(files, context);
    if (paths.length > 0) {
      throw new ConfigFileError(
        paths.join(", "),
        "no file of KUBECONFIG exists",
        "correct KUBECONFIG or unset it",
      );
    }
  }
  const account = () => accountTarget(env, query.accountDir ?? SERVICE_ACCOUNT_DIR);
  const homeFile = async () => {
    const home = env["HOME"] || env["USERPROFILE"];
    const files = home ? await readExisting([path.join(home, ".kube", "config")]) : [];
    return files.length > 0 ? targetFromKubeconfig(files, context) : undefined;
  };
  const places = query.order === "account-first" ? [account, homeFile] : [homeFile, account];
  for (const place of places) {
    const target = await place();
    if (target) return target;
  }
  throw new ConfigFileError(
    "the Kubernetes configuration",
    "found neither KUBECONFIG, nor ~/.kube/config, nor a mounted ServiceAccount",
    "set KUBECONFIG or pass --kubeconfig",
  );
}

async function readKubeconfig(file: string): Promise<KubeconfigFile> {
  try {
    return { path: path.resolve(file), text: await Deno.readTextFile(file) };
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

/** Skips missing files as kubectl does. Throws for an unreadable one. */
async function readExisting(paths: readonly string[]): Promise<KubeconfigFile[]> {
  const files: KubeconfigFile[] = [];
  for (const file of paths) {
    try {
      files.push({ path: path.resolve(file), text: await Deno.readTextFile(file) });
    } catch (cause) {
      if (!(cause instanceof Deno.errors.NotFound)) throw unreadable(file, cause);
    }
  }
  return files;
}

async function accountTarget(
  env: TargetQuery["env"],
  dir: string,
): Promise<KubeTarget | undefined> {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  const token = path.join(dir, "token");
  if (!host || !port || !await exists(token)) return undefined;
  const namespace = await Deno.readTextFile(path.join(dir, "namespace")).catch(() => "");
  return {
    origin: `the ServiceAccount mounted at ${dir}`,
    context: "",
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: { file: path.join(dir, "ca.crt") },
    insecureSkipTlsVerify: false,
    auth: { kind: "token", token: { file: token } },
    impersonation: {},
    ...(namespace.trim() ? { namespace: namespace.trim() } : {}),
  };
}

async function exists(file: string): Promise<boolean> {
  try {
    await Deno.stat(file);
    return true;
  } catch {
    return false;
  }
}

/** Builds the error for an unreadable file, in words instead of system codes. */
export function unreadable(file: string, cause: unknown): ConfigFileError {
  if (cause instanceof Deno.errors.NotFound) return new ConfigFileError(file, "it does not exist");
  if (cause instanceof Deno.errors.PermissionDenied || cause instanceof Deno.errors.NotCapable) {
    return new ConfigFileError(file, "permission denied");
  }
  if (cause instanceof Deno.errors.IsADirectory) {
    return new ConfigFileError(file, "it is a directory");
  }
  return new ConfigFileError(file, cause instanceof Error ? cause.message : "it cannot be read");
}

/**
 * Returns the namespace of the leader Lease: that of the pod, else `POD_NAMESPACE`, else that of
 * the kubeconfig's context, else `default`.
 */
export async function leaseNamespace(
  env: Readonly<Record<string, string | undefined>>,
  target: Pick<KubeTarget, "namespace">,
  accountDir = SERVICE_ACCOUNT_DIR,
): Promise<string> {
  const ofPod = await Deno.readTextFile(path.join(accountDir, "namespace")).catch(() => "");
  return ofPod.trim() || env["POD_NAMESPACE"]?.trim() || target.namespace || "default";
}

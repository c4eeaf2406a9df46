import { join, resolve } from "node:path";
import { type Release, releaseArch } from "../tools/download_programs.ts";
import { readGoModule } from "../tools/go_module.ts";
import { obtainPrograms, type Programs } from "../tools/obtain_programs.ts";
import { BINARY_NAMES, type BinaryName } from "./binary_names.ts";
import { type Progress, progressTo } from "../tools/progress.ts";
import { userCacheDir } from "../tools/user_cache_dir.ts";

/** The absolute path of each program. */
export type Binaries = Record<BinaryName, string>;

const PACKAGES: Readonly<Record<BinaryName, string>> = {
  etcd: "go.etcd.io/etcd/server/v3",
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
};

/** The environment variables that can name a directory with the programs; the first one wins. */
const DIRECTORY_VARIABLES = ["XBIND_CONTROLPLANE_DIR", "KUBEBUILDER_ASSETS"];

/** KUBEBUILDER_ASSETS usually lacks it. */
const MAY_BE_MISSING: BinaryName = "kube-controller-manager";

const isFile = (path: string): Promise<boolean> =>
  Deno.stat(path).then((info) => info.isFile, () => false);

const presentIn = async (dir: string): Promise<Partial<Binaries>> => {
  const present: Partial<Binaries> = {};
  for (const name of BINARY_NAMES) {
    const path = join(dir, name);
    if (await isFile(path)) present[name] = path;
  }
  return present;
};

const missingFrom = (present: Partial<Binaries>): BinaryName[] =>
  BINARY_NAMES.filter((name) => !present[name]);

const explicitBinaries = async (env: Record<string, string>): Promise<Partial<Binaries>> => {
  const variable = DIRECTORY_VARIABLES.find((name) => env[name]);
  if (!variable) return {};
  const dir = resolve(env[variable] ?? "");
  const present = await presentIn(dir);
  const missing = missingFrom(present).filter((name) => name !== MAY_BE_MISSING);
  if (missing.length > 0) {
    const paths = missing.map((name) => `"${join(dir, name)}"`).join(", ");
    throw new Error(`Cannot use ${variable}: there is no ${paths}`);
  }
  return present;
};

/** The Go variables behind `kubectl version`. */
const versionStamps = (version: string): Record<string, string> => {
  const [major = "", minor = ""] = version.replace(/^v/, "").split(".");
  return {
    "k8s.io/component-base/version.gitVersion": version,
    "k8s.io/component-base/version.gitMajor": major,
    "k8s.io/component-base/version.gitMinor": minor,
    "k8s.io/component-base/version.gitTreeState": "clean",
    "k8s.io/client-go/pkg/version.gitVersion": version,
  };
};

const etcdRelease = (version: string, arch: string): Release => {
  const folder = `https://github.com/etcd-io/etcd/releases/download/${version}`;
  const name = `etcd-${version}-linux-${arch}`;
  return { url: `${folder}/${name}.tar.gz`, sums: `${folder}/SHA256SUMS`, member: `${name}/etcd` };
};

/** The official releases for Linux on this processor. */
export const controlPlaneReleases = (
  versions: { readonly kubernetes: string; readonly etcd: string },
  arch: string,
): Record<BinaryName, Release> => {
  const kubernetes = (name: BinaryName): Release => {
    const url = `https://dl.k8s.io/${versions.kubernetes}/bin/linux/${arch}/${name}`;
    return { url, sums: `${url}.sha256` };
  };
  return {
    etcd: etcdRelease(versions.etcd, arch),
    "kube-apiserver": kubernetes("kube-apiserver"),
    "kube-controller-manager": kubernetes("kube-controller-manager"),
    kubectl: kubernetes("kubectl"),
  };
};

const controlPlanePrograms = async (): Promise<Programs<BinaryName>> => {
  const dir = import.meta.dirname ?? "";
  const module = await readGoModule(dir, "k8s.io/kubernetes");
  const etcd = await readGoModule(dir, PACKAGES.etcd);
  const versions = { kubernetes: module.version, etcd: etcd.version };
  const arch = releaseArch();
  return {
    what: "the control plane",
    module,
    releases: arch ? controlPlaneReleases(versions, arch) : {},
    packages: PACKAGES,
    stamps: versionStamps(module.version),
    orElse: "set KUBEBUILDER_ASSETS to a directory with etcd, kube-apiserver, " +
      "kube-controller-manager and kubectl",
  };
};

/**
 * Finds the programs of a control plane: in the directory that the environment names, or in the
 * user's cache. Missing ones are downloaded, or built from the pinned Go module, which takes
 * minutes.
 */
export const controlPlaneBinaries = async (
  progress: Progress = progressTo(),
  env: Record<string, string> = Deno.env.toObject(),
): Promise<Binaries> => {
  const explicit = await explicitBinaries(env);
  if (missingFrom(explicit).length === 0) return explicit as Binaries;
  const programs = await controlPlanePrograms();
  const cache = resolve(userCacheDir(env), "xbind", "controlplane", programs.module.key);
  const missing = async () => missingFrom({ ...await presentIn(cache), ...explicit });
  if ((await missing()).length > 0) await obtainPrograms(programs, cache, missing, progress, env);
  return { ...await presentIn(cache), ...explicit } as Binaries;
};

/**
 * Runs Helm with these arguments: the one that `HELM_BIN` names, a Helm 4 on PATH, or the pinned
 * one of `scripts/tools/helm/`, downloaded or built at the first use.
 */
import { resolve } from "node:path";
import { type Progress, progressTo } from "./progress.ts";
import { userCacheDir } from "./user_cache_dir.ts";
import { type Release, releaseArch } from "./download_programs.ts";
import { obtainPrograms } from "./obtain_programs.ts";
import { readGoModule } from "./go_module.ts";

const MODULE = "helm.sh/helm/v4";
const MAJOR = "v4.";

const isFile = (path: string): Promise<boolean> =>
  Deno.stat(path).then((info) => info.isFile, () => false);

/** The version that a Helm prints, such as `v4.3.1`; undefined if it does not run. */
const versionOf = async (
  helm: string,
  env: Record<string, string>,
): Promise<string | undefined> => {
  try {
    const args = ["version", "--template", "{{.Version}}"];
    const command = new Deno.Command(helm, { args, env, stdin: "null", stderr: "null" });
    const { success, stdout } = await command.output();
    return success ? new TextDecoder().decode(stdout).trim() : undefined;
  } catch {
    return undefined;
  }
};

const namedHelm = async (env: Record<string, string>): Promise<string | undefined> => {
  if (!env["HELM_BIN"]) return undefined;
  const path = resolve(env["HELM_BIN"]);
  const version = await versionOf(path, env);
  if (version?.startsWith(MAJOR)) return path;
  const reason = version ? `it is ${version}, not Helm 4` : "it does not run";
  throw new Error(`Cannot use HELM_BIN "${path}": ${reason}`);
};

const helmOnPath = async (env: Record<string, string>): Promise<string | undefined> => {
  for (const dir of (env["PATH"] ?? "").split(":").filter(Boolean)) {
    const path = resolve(dir, "helm");
    if (await isFile(path) && (await versionOf(path, env))?.startsWith(MAJOR)) return path;
  }
  return undefined;
};

const helmRelease = (version: string, arch: string): Release => {
  const url = `https://get.helm.sh/helm-${version}-linux-${arch}.tar.gz`;
  return { url, sums: `${url}.sha256sum`, member: `linux-${arch}/helm` };
};

/** Finds a Helm 4, or downloads or builds the pinned one once; a build takes minutes. */
export const helmBinary = async (
  progress: Progress = progressTo(),
  env: Record<string, string> = Deno.env.toObject(),
): Promise<string> => {
  const present = await namedHelm(env) ?? await helmOnPath(env);
  if (present) return present;
  const module = await readGoModule(resolve(import.meta.dirname ?? "", "helm"), MODULE);
  const cache = resolve(userCacheDir(env), "xbind", "helm", module.key);
  const helm = resolve(cache, "helm");
  const missing = async (): Promise<"helm"[]> => await isFile(helm) ? [] : ["helm"];
  if ((await missing()).length > 0) {
    const arch = releaseArch();
    await obtainPrograms(
      {
        what: "Helm",
        module,
        releases: arch ? { helm: helmRelease(module.version, arch) } : {},
        packages: { helm: `${MODULE}/cmd/helm` },
        stamps: { [`${MODULE}/internal/version.version`]: module.version },
        orElse: "set HELM_BIN to a Helm 4",
      },
      cache,
      missing,
      progress,
      env,
    );
  }
  return helm;
};

if (import.meta.main) {
  const helm = new Deno.Command(await helmBinary(), { args: Deno.args });
  Deno.exit((await helm.spawn().status).code);
}

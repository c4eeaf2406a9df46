/**
 * Runs Helm with these arguments: the one that `HELM_BIN` names, a Helm 4 on PATH, or the pinned
 * one of `scripts/tools/helm/`, downloaded or built at the first use.
 */
import { type PinnedProgram, pinnedProgram } from "./pinned_program.ts";
import type { Progress } from "./progress.ts";

const MODULE = "helm.sh/helm/v4";

const HELM: PinnedProgram = {
  name: "helm",
  title: "Helm",
  major: 4,
  variable: "HELM_BIN",
  versionArgs: ["version", "--template", "{{.Version}}"],
  usable: /^v4\./,
  module: MODULE,
  path: `${MODULE}/cmd/helm`,
  stamps: (version) => ({ [`${MODULE}/internal/version.version`]: version }),
  release: (version, arch) => {
    const url = `https://get.helm.sh/helm-${version}-linux-${arch}.tar.gz`;
    return { url, sums: `${url}.sha256sum`, member: `linux-${arch}/helm` };
  },
};

/** Finds a Helm 4, or downloads or builds the pinned one once. */
export const helmBinary = (progress?: Progress, env?: Record<string, string>): Promise<string> =>
  pinnedProgram(HELM, progress, env);

if (import.meta.main) {
  const helm = new Deno.Command(await helmBinary(), { args: Deno.args });
  Deno.exit((await helm.spawn().status).code);
}

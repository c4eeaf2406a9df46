/**
 * Runs promtool with these arguments: the one that `PROMTOOL_BIN` names, one of Prometheus 3 on
 * PATH, or the pinned one of `scripts/tools/promtool/`, downloaded or built at the first use.
 */
import { type PinnedProgram, pinnedProgram } from "./pinned_program.ts";
import type { Progress } from "./progress.ts";

const MODULE = "github.com/prometheus/prometheus";

/** Returns the release of a module version: `v0.315.0` is Prometheus 3.15.0. */
const releaseOf = (version: string): string =>
  version.replace(/^v0\.(\d)0?(\d+)\./, (_, major, minor) => `${major}.${minor}.`);

const PROMTOOL: PinnedProgram = {
  name: "promtool",
  title: "promtool",
  major: 3,
  variable: "PROMTOOL_BIN",
  versionArgs: ["--version"],
  usable: /^promtool, version 3\./,
  module: MODULE,
  path: `${MODULE}/cmd/promtool`,
  // Rules need no service discovery, which is most of the code.
  tags: ["remove_all_sd"],
  stamps: (version) => ({ "github.com/prometheus/common/version.Version": releaseOf(version) }),
  release: (version, arch) => {
    const number = releaseOf(version);
    const folder = `prometheus-${number}.linux-${arch}`;
    const url = `https://github.com/prometheus/prometheus/releases/download/v${number}`;
    return {
      url: `${url}/${folder}.tar.gz`,
      sums: `${url}/sha256sums.txt`,
      member: `${folder}/promtool`,
    };
  },
};

/** Finds a promtool of Prometheus 3, or downloads or builds the pinned one once. */
export const promtoolBinary = (
  progress?: Progress,
  env?: Record<string, string>,
): Promise<string> => pinnedProgram(PROMTOOL, progress, env);

if (import.meta.main) {
  const promtool = new Deno.Command(await promtoolBinary(), { args: Deno.args });
  Deno.exit((await promtool.spawn().status).code);
}

import path from "node:path";
import { parse, stringify } from "yaml";
import { BuildError } from "./build_error.ts";
import { krewFaults } from "./krew_faults.ts";
import type { Platform } from "./platforms.ts";
import { ROOT } from "./source_state.ts";

/** Where the archives of a release lie unless the build is told otherwise. */
export const releaseUrl = (version: string): string =>
  `https://github.com/xbind/xbind/releases/download/v${version}`;

/** The plugin's archive for one platform. */
export interface PluginArchive {
  readonly platform: Platform;
  readonly name: string;
  readonly sha256: string;
  /** The file in it that is run. */
  readonly bin: string;
}

/** What people read about the plugin; the rest of the manifest is known only to a build. */
export const KREW_TEMPLATE: string = path.join(ROOT, "deploy", "krew", "bind.yaml");

/** The manifest by which krew installs the plugin; throws on one that krew would refuse. */
export function krewManifest(
  template: string,
  version: string,
  baseUrl: string,
  archives: readonly PluginArchive[],
): string {
  const manifest = parse(template);
  manifest.spec = {
    version: `v${version}`,
    ...manifest.spec,
    platforms: archives.map(({ platform: { os, arch }, name, sha256, bin }) => ({
      selector: { matchLabels: { os, arch } },
      uri: `${baseUrl.replace(/\/$/, "")}/${name}`,
      sha256,
      bin,
      files: [{ from: "*", to: "." }],
    })),
  };
  const faults = krewFaults("bind", manifest);
  if (faults.length > 0) {
    throw new BuildError(`Cannot make the krew manifest: ${faults.join("; ")}`);
  }
  return stringify(manifest, { version: "1.1", lineWidth: 0 });
}

import path from "node:path";
import { parse, stringify } from "yaml";
import { BuildError } from "./run_build.ts";
import type { Platform } from "./platforms.ts";
import { ROOT } from "./source_state.ts";

/** The default URL of the archives of a release. */
export const releaseUrl = (version: string): string =>
  `https://github.com/xbind/xbind/releases/download/v${version}`;

/** The plugin's archive for one platform. */
export interface PluginArchive {
  readonly platform: Platform;
  readonly name: string;
  readonly sha256: string;
  /** The file in it that krew runs. */
  readonly bin: string;
}

/** The texts of the manifest; a build adds version and archives. */
export const KREW_TEMPLATE: string = path.join(ROOT, "deploy", "krew", "bind.yaml");

/** Makes the manifest that krew installs the plugin from; throws if krew would refuse it. */
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

/** The fields that krew reads. It ignores all others, so a typo would go unnoticed. */
const FIELDS = {
  manifest: ["apiVersion", "kind", "metadata", "spec"],
  metadata: ["name"],
  spec: ["version", "homepage", "shortDescription", "description", "caveats", "platforms"],
  platform: ["selector", "uri", "sha256", "bin", "files"],
  file: ["from", "to"],
} as const;

/** `kubectl krew search` cuts off longer ones. */
const SHORT_DESCRIPTION_LENGTH = 50;
const OS = ["linux", "darwin", "windows"];
const ARCH = ["amd64", "arm64", "386", "arm", "ppc64le"];
/** Device names on Windows. */
const RESERVED = /^(con|prn|aux|nul|com[1-9]|lpt[1-9])$/i;
const VERSION = /^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

type Fields = Record<string, unknown>;

/** Lists why krew, or its plugin index, would refuse a manifest of this name. */
export function krewFaults(name: string, manifest: unknown): string[] {
  const faults: string[] = [];
  const fault = (text: string) => void faults.push(text);
  const fields = (value: unknown, kind: keyof typeof FIELDS, where: string): Fields => {
    if (!isFields(value)) {
      fault(`${where} is missing`);
      return {};
    }
    for (const key of Object.keys(value)) {
      if (!(FIELDS[kind] as readonly string[]).includes(key)) fault(`${where}.${key} is unknown`);
    }
    return value;
  };
  const text = (value: unknown, where: string, pattern = /./): string => {
    if (typeof value === "string" && pattern.test(value)) return value;
    fault(`${where} is ${typeof value === "string" ? `"${value}"` : "missing"}`);
    return "";
  };

  const { apiVersion, kind, metadata, spec } = fields(manifest, "manifest", "manifest");
  if (apiVersion !== "krew.googlecontainertools.github.com/v1alpha2") fault("apiVersion is wrong");
  if (kind !== "Plugin") fault("kind is not Plugin");
  if (!/^[\w-]+$/.test(name) || RESERVED.test(name)) fault(`the name "${name}" is not allowed`);
  if (fields(metadata, "metadata", "metadata")["name"] !== name) {
    fault(`metadata.name is not ${name}`);
  }
  const { version, homepage, shortDescription, platforms, ...texts } = fields(spec, "spec", "spec");
  text(version, "spec.version", VERSION);
  text(homepage, "spec.homepage", /^https:\/\/\S+$/);
  const short = text(shortDescription, "spec.shortDescription");
  if (/[\r\n]/.test(short)) fault("spec.shortDescription has line breaks");
  if (short.length > SHORT_DESCRIPTION_LENGTH) fault("spec.shortDescription is too long");
  if (/\.$|kubectl/.test(short)) fault("spec.shortDescription ends in a full stop or says kubectl");
  text(texts["description"], "spec.description");

  const selected = new Set<string>();
  if (!Array.isArray(platforms) || platforms.length === 0) return [...faults, "no platforms"];
  platforms.forEach((platform, index) => {
    const where = `spec.platforms[${index}]`;
    const { selector, uri, sha256, bin, files } = fields(platform, "platform", where);
    text(uri, `${where}.uri`, /^https?:\/\/\S+\.(tar\.gz|zip)$/);
    text(sha256, `${where}.sha256`, /^[a-f0-9]{64}$/);
    text(bin, `${where}.bin`);
    if (!Array.isArray(files) || files.length === 0) fault(`${where}.files is empty`);
    else {
      for (const file of files) {
        const { from, to } = fields(file, "file", `${where}.files[]`);
        text(from, `${where}.files[].from`);
        text(to, `${where}.files[].to`);
      }
    }
    const labels = isFields(selector) && isFields(selector["matchLabels"])
      ? selector["matchLabels"]
      : {};
    const { os, arch, ...others } = labels;
    if (
      !OS.includes(String(os)) || !ARCH.includes(String(arch)) || Object.keys(others).length > 0
    ) {
      return fault(`${where}.selector chooses no platform of krew`);
    }
    if (selected.has(`${os}/${arch}`)) fault(`${where}.selector is there twice: ${os}/${arch}`);
    selected.add(`${os}/${arch}`);
  });
  return faults;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

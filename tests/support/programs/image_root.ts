import assert from "node:assert/strict";
import path from "node:path";
import { runProgram, untar } from "../worlds/build_world.ts";

/** The parts of an image's configuration that a container runtime reads. */
export interface RunConfig {
  readonly User: string;
  readonly Env: string[];
  readonly Entrypoint: string[];
  readonly WorkingDir: string;
  readonly StopSignal: string;
  readonly Labels: Record<string, string>;
  readonly ExposedPorts: Record<string, unknown>;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** An image as a registry or a node reads it. */
export interface ReadImage {
  readonly manifest: Descriptor;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  readonly diffIds: readonly string[];
  readonly architecture: string;
  readonly run: RunConfig;
}

/** Returns the path of a blob. */
export const blobFile = (layout: string, { digest }: Pick<Descriptor, "digest">): string =>
  path.join(layout, "blobs", ...digest.split(":"));

/** Reads an OCI layout with one image, from its index down. */
export async function readImage(layout: string): Promise<ReadImage> {
  const json = async (file: string) => JSON.parse(await Deno.readTextFile(file));
  const { imageLayoutVersion } = await json(path.join(layout, "oci-layout"));
  assert.equal(imageLayoutVersion, "1.0.0");
  const { manifests: [manifest, ...others] } = await json(path.join(layout, "index.json"));
  assert.deepEqual(others, []);
  const { config, layers } = await json(blobFile(layout, manifest));
  const { rootfs, architecture, config: run } = await json(blobFile(layout, config));
  return { manifest, config, layers, diffIds: rootfs.diff_ids, architecture, run };
}

/** Unpacks the root file system of an image, layer by layer. */
export async function unpackRoot(layout: string, image: ReadImage, dir: string): Promise<void> {
  for (const layer of image.layers) await untar(blobFile(layout, layer), dir);
}

/** Returns whether this process may mount file systems and change its root. */
export async function mayChroot(): Promise<boolean> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) return false;
  try {
    return (await runProgram("unshare", ["-m", "setpriv", "--no-new-privs", "true"])).code === 0;
  } catch {
    return false;
  }
}

/**
 * Returns the command line that starts a program as a container runtime does: with a read-only root
 * with /proc and /dev, the image's user, no capabilities and no way to get any. Each step replaces
 * itself by the next, so that the process id is the program's.
 */
export async function containerCommand(root: string, { User }: RunConfig): Promise<string[]> {
  for (const name of ["proc", "dev"]) await Deno.mkdir(path.join(root, name));
  const script = `set -e
    mount --bind "$0" "$0"
    mount -o remount,bind,ro "$0"
    mount -t proc proc "$0/proc"
    mount --rbind /dev "$0/dev"
    exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all,+sys_chroot,+setuid,+setgid \\
      chroot --userspec=${User} --groups= "$0" "$@"`;
  return ["unshare", "-m", "sh", "-c", script, root];
}

/** A package of a bill of materials. */
interface SbomPackage {
  readonly SPDXID: string;
  readonly name: string;
  readonly versionInfo?: string;
  readonly sourceInfo?: string;
  readonly externalRefs?: readonly { readonly referenceLocator: string }[];
}

/** Reads a bill of materials: its programs, and the SHA-256 sum and package of every file. */
export async function readSbom(file: string) {
  const { files, packages, relationships } = JSON.parse(await Deno.readTextFile(file));
  const byId = new Map<string, SbomPackage>(packages.map((one: SbomPackage) => [one.SPDXID, one]));
  const sums: Record<string, string> = {};
  const origins = new Map<string, SbomPackage>();
  for (const { SPDXID, fileName, checksums } of files) {
    const name = fileName.replace("./", "");
    sums[name] = checksums.find((sum: { algorithm: string }) => sum.algorithm === "SHA256")
      .checksumValue;
    for (const { spdxElementId, relatedSpdxElement } of relationships) {
      const origin = byId.get(relatedSpdxElement);
      if (spdxElementId === SPDXID && origin) origins.set(name, origin);
    }
  }
  const programs = packages.filter((one: Record<string, string>) =>
    one["primaryPackagePurpose"] === "APPLICATION"
  ).map(({ name }: SbomPackage) => name);
  return { sums, origins, programs };
}

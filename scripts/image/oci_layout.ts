import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { type ArchiveEntry, foldersOf } from "../build/archive_entry.ts";
import { tarOf } from "../build/tar.ts";
import type { ImageConfig } from "./image_config.ts";

/** The parts of an image. */
export interface Image {
  readonly config: ImageConfig;
  readonly layers: readonly (readonly ArchiveEntry[])[];
  readonly arch: "amd64" | "arm64";
  /** Such as `ghcr.io/xbind/backend:1.2.3`. */
  readonly reference: string;
  readonly dateSeconds: number;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

const MEDIA_TYPES = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
} as const;

const encoder = new TextEncoder();
const sha256 = (content: Uint8Array): string =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`;

/** Makes the files of an OCI image layout; the same image gives the same bytes. */
export function ociLayout(image: Image): Map<string, Uint8Array> {
  const { config, arch, reference, dateSeconds } = image;
  const files = new Map<string, Uint8Array>();
  const blob = (mediaType: string, content: Uint8Array): Descriptor => {
    const digest = sha256(content);
    files.set(`blobs/${digest.replace(":", "/")}`, content);
    return { mediaType, digest, size: content.length };
  };
  const created = new Date(dateSeconds * 1000).toISOString();
  const tars = image.layers.map((entries) => tarOf(entries, dateSeconds));
  const layers = tars.map((tar) => blob(MEDIA_TYPES.layer, gzipSync(tar)));
  const configBlob = blob(
    MEDIA_TYPES.config,
    json({
      created,
      architecture: arch,
      os: "linux",
      config,
      rootfs: { type: "layers", diff_ids: tars.map(sha256) },
      history: tars.map(() => ({ created, created_by: "xbind image build" })),
    }),
  );
  const manifest = blob(
    MEDIA_TYPES.manifest,
    json({ schemaVersion: 2, mediaType: MEDIA_TYPES.manifest, config: configBlob, layers }),
  );
  const annotations = {
    "org.opencontainers.image.ref.name": reference.split(":").at(-1),
    "io.containerd.image.name": reference,
  };
  const platform = { architecture: arch, os: "linux" };
  files.set("oci-layout", json({ imageLayoutVersion: "1.0.0" }));
  files.set(
    "index.json",
    json({
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.index,
      manifests: [{ ...manifest, platform, annotations }],
    }),
  );
  // Older versions of `docker load` know images by this file only.
  const pathOf = ({ digest }: Descriptor) => `blobs/${digest.replace(":", "/")}`;
  files.set(
    "manifest.json",
    json([{ Config: pathOf(configBlob), RepoTags: [reference], Layers: layers.map(pathOf) }]),
  );
  return files;
}

/** The layout as entries of one archive, for `docker load` and `skopeo`. */
export const layoutEntries = (files: ReadonlyMap<string, Uint8Array>): ArchiveEntry[] => [
  ...foldersOf([...files.keys()]),
  ...Array.from(files, ([path, content]): ArchiveEntry => ({ kind: "file", path, content })),
];

const json = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

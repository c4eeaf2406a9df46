import type { FlagTable } from "../../common/flags/flag_kinds.ts";
import { FLAGS as KONNECTOR_FLAGS } from "../../konnector/flag_table.ts";
import { FLAGS as BACKEND_FLAGS } from "../../server/flag_table.ts";
import { type Product, PRODUCTS } from "../build/compile.ts";
import { DAEMON_ENV, DAEMON_SCRIPT_FLAGS } from "../run_flags.ts";

/** What the image runs: the executable, or the packed script on Deno itself. */
export type ImageForm = "executable" | "script";

/** The user ID of the process; no user of a node has it. */
export const IMAGE_USER = 65532;

/** The program of an image, and what registries and engines show of it. */
export interface ImageProduct {
  readonly product: Product;
  readonly repository: string;
  readonly description: string;
  /** The ports that the program listens on by default. */
  readonly ports: readonly string[];
}

/** The images, by the name of their program. */
export const IMAGES = {
  backend: {
    product: PRODUCTS.backend,
    repository: "ghcr.io/xbind/backend",
    description: "Offers CRDs of a Kubernetes cluster as a service",
    ports: portsOf(BACKEND_FLAGS),
  },
  konnector: {
    product: PRODUCTS.konnector,
    repository: "ghcr.io/xbind/konnector",
    description: "Syncs objects of a Kubernetes cluster with the providers of their APIs",
    ports: portsOf(KONNECTOR_FLAGS),
  },
} as const satisfies Readonly<Record<string, ImageProduct>>;

/** The name of a program that has an image. */
export type ImageName = keyof typeof IMAGES;

/** The path of the CA certificates in an image. */
export const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";

/** The paths of a program in its image. */
export const imagePaths = ({ name, entry }: Product) => ({
  executable: `/usr/bin/${name}`,
  deno: "/usr/bin/deno",
  script: `/usr/lib/xbind/${entry}`,
});

/** The ports of the default addresses of these flags. */
function portsOf(flags: FlagTable): string[] {
  return ["listen-address", "health-probe-bind-address", "metrics-bind-address"].flatMap((name) =>
    flags[name]?.defaultText.replace(/^.*:/, "") ?? []
  );
}

/** OCI's image configuration: how a container of the image runs. */
export interface ImageConfig {
  readonly User: string;
  readonly WorkingDir: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly ExposedPorts: Readonly<Record<string, Record<string, never>>>;
  readonly Labels: Readonly<Record<string, string>>;
  readonly StopSignal: string;
}

/** The configuration for a version; `revision` is the commit, if known. */
export function imageConfig(
  { product, description, ports }: ImageProduct,
  form: ImageForm,
  version: string,
  revision?: string,
): ImageConfig {
  const paths = imagePaths(product);
  return {
    User: `${IMAGE_USER}:${IMAGE_USER}`,
    WorkingDir: "/",
    Env: [
      // Deno needs a path here, but never writes to it.
      "DENO_DIR=/nonexistent",
      "DENO_NO_UPDATE_CHECK=1",
      // Lets operators mount other certificates over those of the image.
      "DENO_TLS_CA_STORE=system",
      `SSL_CERT_FILE=${CERTIFICATES}`,
      ...Object.entries(DAEMON_ENV).map(([name, value]) => `${name}=${value}`),
    ],
    Entrypoint: form === "executable"
      ? [paths.executable]
      : [paths.deno, "run", ...DAEMON_SCRIPT_FLAGS, paths.script],
    ExposedPorts: Object.fromEntries(ports.map((port) => [`${port}/tcp`, {}])),
    Labels: {
      "org.opencontainers.image.title": product.name,
      "org.opencontainers.image.description": description,
      "org.opencontainers.image.source": "https://github.com/xbind/xbind",
      "org.opencontainers.image.licenses": "Apache-2.0",
      "org.opencontainers.image.version": version,
      ...(revision && { "org.opencontainers.image.revision": revision }),
    },
    StopSignal: "SIGTERM",
  };
}

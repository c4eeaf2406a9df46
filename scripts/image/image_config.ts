import { FLAGS } from "../../server/flag_table.ts";
import { BACKEND_BUNDLE_FLAGS, BACKEND_ENV } from "../run_flags.ts";

/** What the image runs: the executable, or Deno itself with the bundle. */
export type ImageForm = "executable" | "bundle";

/** The user of the process; nobody on any node. */
export const IMAGE_USER = 65532;

/** Where the programs lie in the image. */
export const IMAGE_PATHS = {
  executable: "/usr/bin/xbind-backend",
  deno: "/usr/bin/deno",
  bundle: "/usr/lib/xbind/xbind-backend.js",
  certificates: "/etc/ssl/certs/ca-certificates.crt",
} as const;

/** The same for every build; a registry shows them. */
const LABELS = {
  "org.opencontainers.image.title": "xbind-backend",
  "org.opencontainers.image.description": "Offers CRDs of a Kubernetes cluster as a service",
  "org.opencontainers.image.source": "https://github.com/xbind/xbind",
  "org.opencontainers.image.licenses": "Apache-2.0",
} as const;

/** How a container of the image is run; OCI's image configuration, without what an engine adds. */
export interface ImageConfig {
  readonly User: string;
  readonly WorkingDir: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly ExposedPorts: Readonly<Record<string, Record<string, never>>>;
  readonly Labels: Readonly<Record<string, string>>;
  readonly StopSignal: string;
}

/** The configuration for a version; a revision is the commit, where it is known. */
export function imageConfig(form: ImageForm, version: string, revision?: string): ImageConfig {
  return {
    User: `${IMAGE_USER}:${IMAGE_USER}`,
    WorkingDir: "/",
    Env: [
      // Nothing is ever written there; Deno wants to know a place all the same.
      "DENO_DIR=/nonexistent",
      "DENO_NO_UPDATE_CHECK=1",
      // Certificates that somebody mounts over those of the image count.
      "DENO_TLS_CA_STORE=system",
      `SSL_CERT_FILE=${IMAGE_PATHS.certificates}`,
      ...Object.entries(BACKEND_ENV).map(([name, value]) => `${name}=${value}`),
    ],
    Entrypoint: form === "executable" ? [IMAGE_PATHS.executable] : [
      IMAGE_PATHS.deno,
      "run",
      ...BACKEND_BUNDLE_FLAGS,
      IMAGE_PATHS.bundle,
    ],
    ExposedPorts: Object.fromEntries(
      [FLAGS["listen-address"], FLAGS["health-probe-bind-address"], FLAGS["metrics-bind-address"]]
        .map((flag) => [`${flag.defaultText.replace(/^.*:/, "")}/tcp`, {}]),
    ),
    Labels: {
      ...LABELS,
      "org.opencontainers.image.version": version,
      ...(revision && { "org.opencontainers.image.revision": revision }),
    },
    StopSignal: "SIGTERM",
  };
}

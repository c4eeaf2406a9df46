import { FLAGS } from "../../server/flag_table.ts";
import { DAEMON_ENV, DAEMON_SCRIPT_FLAGS } from "../run_flags.ts";

/** What the image runs: the executable, or the packed script on Deno itself. */
export type ImageForm = "executable" | "script";

/** The user ID of the process; no user of a node has it. */
export const IMAGE_USER = 65532;

/** Paths in the image. */
export const IMAGE_PATHS = {
  executable: "/usr/bin/xbind-backend",
  deno: "/usr/bin/deno",
  script: "/usr/lib/xbind/xbind-backend.js",
  certificates: "/etc/ssl/certs/ca-certificates.crt",
} as const;

/** Labels that every build has; registries show them. */
const LABELS = {
  "org.opencontainers.image.title": "xbind-backend",
  "org.opencontainers.image.description": "Offers CRDs of a Kubernetes cluster as a service",
  "org.opencontainers.image.source": "https://github.com/xbind/xbind",
  "org.opencontainers.image.licenses": "Apache-2.0",
} as const;

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
export function imageConfig(form: ImageForm, version: string, revision?: string): ImageConfig {
  return {
    User: `${IMAGE_USER}:${IMAGE_USER}`,
    WorkingDir: "/",
    Env: [
      // Deno needs a path here, but never writes to it.
      "DENO_DIR=/nonexistent",
      "DENO_NO_UPDATE_CHECK=1",
      // Lets operators mount other certificates over those of the image.
      "DENO_TLS_CA_STORE=system",
      `SSL_CERT_FILE=${IMAGE_PATHS.certificates}`,
      ...Object.entries(DAEMON_ENV).map(([name, value]) => `${name}=${value}`),
    ],
    Entrypoint: form === "executable" ? [IMAGE_PATHS.executable] : [
      IMAGE_PATHS.deno,
      "run",
      ...DAEMON_SCRIPT_FLAGS,
      IMAGE_PATHS.script,
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

import { join } from "node:path";
import { FIELD_MANAGERS } from "../../common/api/names.ts";
import { konnectorManifest } from "../../common/consumer/konnector_manifest.ts";
import { toYaml } from "../../common/yaml.ts";
import type { ControlPlane } from "../controlplane/control_plane.ts";

/** The root of the sources. */
export const ROOT = join(import.meta.dirname ?? "", "..", "..");

const PROVIDER_CRDS = [
  "exports.catalog.xbind.io",
  "collections.catalog.xbind.io",
  "grants.iam.xbind.io",
];
const CONSUMER_CRDS = [
  "connections.core.xbind.io",
  "clusterbindings.core.xbind.io",
  "bindings.core.xbind.io",
];
const SAMPLE_CRD = "widgets.example.org";
const crds = (names: string[]) => names.map((name) => `crd/${name}`);

/** The objects of the provider before the first bind, as arguments of kubectl. */
export const PROVIDER_OBJECTS = [
  ...crds([...PROVIDER_CRDS, SAMPLE_CRD]),
  "exports.catalog.xbind.io/widgets",
  "collections.catalog.xbind.io/getting-started",
  "clusterrole/widgets-controller",
  "secret/widgets-ca",
];

/** The objects of the consumer before the first bind, as arguments of kubectl. */
export const CONSUMER_OBJECTS = [...crds(CONSUMER_CRDS), "clusterrole/konnector"];

/** Runs kubectl on a control plane. Throws if it fails. */
export async function kubectl(
  plane: ControlPlane,
  args: string[],
  stdin?: string,
): Promise<string> {
  const { code, stdout, stderr } = await plane.kubectl(args, stdin === undefined ? {} : { stdin });
  if (code === 0) return stdout;
  throw new Error(`Cannot run kubectl ${args.join(" ")} on ${plane.name}: ${stderr.trim()}`);
}

const established = (plane: ControlPlane, names: string[]) =>
  kubectl(plane, ["wait", "--for=condition=Established", "--timeout=30s", ...crds(names)]);

const apply = (plane: ControlPlane, ...names: string[]) =>
  kubectl(plane, [
    "apply",
    "--server-side",
    ...names.flatMap((name) => ["-f", join(ROOT, "examples/widgets", name)]),
  ]);

/**
 * Offers Widgets on the provider. Returns a kubeconfig with the rights of the sample controller.
 * The backend must run, because it installs the kinds of the catalog and judges the Export.
 */
export async function installSample(provider: ControlPlane): Promise<string> {
  await apply(provider, "crd.yaml");
  await established(provider, [SAMPLE_CRD]);
  await apply(provider, "ca.yaml", "export.yaml", "collection.yaml", "controller.yaml");
  await kubectl(provider, ["wait", "--for=condition=Ready", "--timeout=30s", "export/widgets"]);
  return await provider.kubeconfigForServiceAccount("default", "widgets-controller");
}

/**
 * Installs the konnector's kinds, account and rights on the consumer, but no Deployment, because no
 * node would run its pod. Returns a kubeconfig of the account.
 */
export async function installKonnector(consumer: ControlPlane): Promise<string> {
  const objects = konnectorManifest("").filter(({ kind }) => kind !== "Deployment");
  const manager = `--field-manager=${FIELD_MANAGERS.installer}`;
  await kubectl(consumer, ["apply", "--server-side", manager, "-f", "-"], toYaml(objects));
  await established(consumer, CONSUMER_CRDS);
  return await consumer.kubeconfigForServiceAccount("xbind", "konnector");
}

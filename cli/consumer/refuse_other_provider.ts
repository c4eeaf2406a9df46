import { Buffer } from "node:buffer";
import { type Secret, SECRETS } from "../../common/api/resources.ts";
import { parseUntrustedYaml } from "../../common/untrusted_yaml.ts";
import { isForbidden } from "../../common/kube/kube_error.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { CliError } from "../cli_error.ts";
import type { Bundle } from "./check_bundle.ts";
import type { Consumer } from "./connect_consumer.ts";
import { isMapping } from "./differences.ts";

/**
 * Fails when the bundle would take the place of another provider's credentials: two providers may
 * give the same name to Grants, and what this cluster syncs would then go to the wrong one.
 */
export async function refuseOtherProvider(
  { kube }: Consumer,
  { secret, server }: Bundle,
  signal: AbortSignal,
): Promise<void> {
  const present = await kube.find(SECRETS, keyOf(secret), signal).catch((error) => {
    if (isForbidden(error)) return undefined; // whoever may write a Secret need not be able to read it
    throw error;
  });
  const other = present && serverIn(present);
  if (other === undefined || other === server) return;
  const { name } = secret.metadata;
  throw new CliError(
    "failure",
    `Cannot apply the bundle "${name}": this cluster is connected under that name to ` +
      `the provider at ${other}, not ${server}`,
    "If the same provider has moved, run the command again with --replace-provider",
  );
}

/** The server of the kubeconfig in a Secret, as far as there is one. */
export function serverIn({ data }: Secret): string | undefined {
  const text = Buffer.from(data?.["kubeconfig"] ?? "", "base64").toString();
  try {
    const kubeconfig = parseUntrustedYaml(text);
    const clusters = isMapping(kubeconfig) ? kubeconfig["clusters"] : undefined;
    const [first] = Array.isArray(clusters) ? clusters : [];
    const cluster = isMapping(first) ? first["cluster"] : undefined;
    const server = isMapping(cluster) ? cluster["server"] : undefined;
    return typeof server === "string" ? server : undefined;
  } catch {
    return undefined; // no kubeconfig, so nobody's credentials
  }
}

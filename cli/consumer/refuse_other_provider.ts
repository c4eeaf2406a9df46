import { Buffer } from "node:buffer";
import { type Secret, SECRETS } from "../../common/api/resources.ts";
import { KUBECONFIG_KEY } from "../../common/consumer/bundle.ts";
import { parseUntrustedYaml } from "../../common/yaml.ts";
import { isForbidden } from "../../common/kube/kube_error.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { CliError } from "../cli_error.ts";
import type { CheckedBundle } from "./check_bundle.ts";
import { firstCluster } from "./check_provider_kubeconfig.ts";
import type { Consumer } from "./connect_consumer.ts";

/**
 * Fails when the bundle would replace the credentials of another provider. Two providers may use
 * the same Grant name, and this cluster would then sync to the wrong one.
 */
export async function refuseOtherProvider(
  { kube }: Consumer,
  { secret, server }: CheckedBundle,
  signal: AbortSignal,
): Promise<void> {
  const present = await kube.find(SECRETS, keyOf(secret), signal).catch((error) => {
    if (isForbidden(error)) return undefined; // a right to write a Secret is not a right to read it
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

/** Finds the server of the kubeconfig in a Secret; undefined when it holds no kubeconfig. */
export function serverIn({ data }: Secret): string | undefined {
  const text = Buffer.from(data?.[KUBECONFIG_KEY] ?? "", "base64").toString();
  try {
    const { server } = firstCluster(parseUntrustedYaml(text));
    return typeof server === "string" ? server : undefined;
  } catch {
    return undefined;
  }
}

import { providerKubeconfig } from "../../common/consumer/bundle.ts";
import {
  InlineKubeconfigError,
  parseInlineKubeconfig,
} from "../../common/kube/inline_kubeconfig.ts";
import type { KubeTarget } from "../../common/kube/kube_target.ts";
import { parseUntrustedYaml, toYaml } from "../../common/yaml.ts";
import { differences, isMapping, refused } from "./differences.ts";

/** A provider's kubeconfig that has passed the checks. */
export interface ProviderKubeconfig {
  /** The URL of its only cluster. */
  readonly server: string;
  /** Written from the checked parts, so that no other reader finds anything else in it. */
  readonly text: string;
}

/** Names in a kubeconfig may be any; empty `preferences` are left behind by some writers. */
const MAY_DIFFER =
  /^(preferences|current-context|\w+\[0\]\.name|contexts\[0\]\.context\.(cluster|user))$/;

/**
 * Accepts one https cluster with CA data or none, one user with a token, and one context. Other
 * fields are refused, not dropped: without one, such as a TLS name, the konnector would not connect
 * as the provider means it to.
 */
export function checkProviderKubeconfig(text: string): ProviderKubeconfig {
  const { auth, namespace } = parsed(text);
  if (auth.kind !== "token" || !("data" in auth.token)) {
    throw refusedKubeconfig("its user has no token");
  }
  const given = parseUntrustedYaml(text);
  const cluster = firstCluster(given);
  const server = String(cluster["server"]);
  const caData = cluster["certificate-authority-data"] as string | undefined;
  const model = providerKubeconfig({ server, caData, token: auth.token.data, namespace });
  const [path] = differences(given, model, (place) => MAY_DIFFER.test(place));
  if (path !== undefined) throw refusedKubeconfig(`it has an unexpected value at "${path}"`);
  return { server, text: toYaml([model]) };
}

function parsed(text: string): KubeTarget {
  try {
    return parseInlineKubeconfig(text, { origin: "the bundle" });
  } catch (error) {
    if (!(error instanceof InlineKubeconfigError)) throw error;
    throw refusedKubeconfig(error.message);
  }
}

/** Gives the fields of the first cluster in a kubeconfig; none when it is no kubeconfig. */
export function firstCluster(kubeconfig: unknown): Readonly<Record<string, unknown>> {
  const clusters = isMapping(kubeconfig) ? kubeconfig["clusters"] : undefined;
  const [first] = Array.isArray(clusters) ? clusters : [];
  const cluster = isMapping(first) ? first["cluster"] : undefined;
  return isMapping(cluster) ? cluster : {};
}

const refusedKubeconfig = (reason: string) => refused("the kubeconfig in the bundle", reason);

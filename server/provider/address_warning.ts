import type { KubeTarget } from "../../common/kube/kube_target.ts";
import type { Config } from "../config.ts";

/** Warns when issued kubeconfigs would name an address that consumers cannot use. */
export function addressWarning(
  { externalAddress }: Pick<Config, "externalAddress">,
  target: Pick<KubeTarget, "context" | "server">,
): string | undefined {
  const fault = externalAddress === "" ? addressFault(target) : undefined;
  return fault &&
    `--external-address is empty: issued kubeconfigs name ${target.server}, ${fault}`;
}

function addressFault({ context, server }: Pick<KubeTarget, "context" | "server">) {
  const { host, protocol } = new URL(server);
  if (protocol !== "https:") return "which kubectl bind refuses: it is not https";
  const isInCluster = context === "" || /\.svc(\.|:|$)/.test(host);
  return isInCluster ? "which consumers outside this cluster cannot reach" : undefined;
}

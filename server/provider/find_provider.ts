import { XbindError } from "../../common/errors.ts";
import type { Config } from "../config.ts";
import { VERSION } from "../../common/version.ts";
import { KubeClient } from "../../common/kube/client.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import type { KubeTarget } from "../../common/kube/kube_target.ts";
import { loadTarget } from "../../common/kube/load_target.ts";
import { Transport } from "../../common/kube/transport.ts";

/** A way to the provider, and a remark for the log if its address may not suit consumers. */
export interface Provider {
  readonly kube: KubeClient;
  readonly transport: Transport;
  readonly warnings: readonly string[];
  /**
   * Asks one question, so that a wrong address, certificate or credential shows at once and with
   * its remedy.
   */
  answers(signal: AbortSignal): Promise<void>;
}

/** What the connection depends on besides flags. */
export interface ConnectOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Told of every answer, by the host of the API server. */
  readonly onAnswer?: (host: string) => (method: string, status: number) => void;
}

/** Finds the provider that the flags and the environment name; nothing is asked of it yet. */
export async function findProvider(
  config: Pick<Config, "kubeconfig" | "externalAddress">,
  { env, onAnswer }: ConnectOptions,
): Promise<Provider> {
  const target = await loadTarget({
    kubeconfig: config.kubeconfig,
    env,
    order: "account-first",
  });
  const transport = new Transport(target, {
    userAgent: `xbind-backend/${VERSION}`,
    ...(onAnswer ? { onAnswer: onAnswer(new URL(target.server).host) } : {}),
  });
  const kube = new KubeClient(transport);
  const fault = config.externalAddress === "" ? addressFault(target) : undefined;
  const warnings = fault === undefined ? [] : [
    `--external-address is empty: issued kubeconfigs name ${target.server}, ${fault}`,
  ];
  const answers = async (signal: AbortSignal) => {
    try {
      // Any account may ask this, and anonymous callers may not always.
      await kube.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectRulesReview",
        spec: { namespace: "default" },
      }, signal);
    } catch (error) {
      throw explained(error, target);
    }
  };
  return { kube, transport, warnings, answers };
}

function explained(error: unknown, { server, origin }: KubeTarget): unknown {
  if (!(error instanceof KubeError)) return error;
  const where = `${server}, from ${origin}`;
  const reason = error.message.replace(/^[^:]*: /, "");
  const message = error.status === 401 || error.status === 403
    ? `Cannot use the API server ${where}: it refuses the credentials (${reason}); ` +
      "check the token or certificate there"
    : `Cannot reach the API server ${where}: ${reason}; ` +
      "check --kubeconfig or KUBECONFIG, and that the server runs";
  return new XbindError("PROVIDER_FAILED", message, { cause: error });
}

/** Why consumers could not use the address that the backend itself uses. */
function addressFault({ context, server }: KubeTarget): string | undefined {
  const { host, protocol } = new URL(server);
  if (protocol !== "https:") return "which kubectl bind refuses: it is not https";
  const inCluster = context === "" || /\.svc(\.|:|$)/.test(host);
  return inCluster ? "which consumers outside this cluster cannot reach" : undefined;
}

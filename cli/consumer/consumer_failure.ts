import { KubeError } from "../../common/kube/kube_error.ts";
import { ConfigFileError, type KubeTarget } from "../../common/kube/kube_target.ts";
import { NoAnswerError } from "../../common/http/exchange.ts";
import { CliError, type Failure } from "../cli_error.ts";

/** Names a cluster: the context, if there is one, and the server. */
export const clusterText = ({ context, server }: Pick<KubeTarget, "context" | "server">): string =>
  context === "" ? server : `context "${context}" (${server})`;

/**
 * Turns a failed call to the consumer cluster into an error with a remedy. Returns errors that are
 * not the fault of the cluster or the kubeconfig unchanged.
 */
export function consumerFailure(error: unknown, target: KubeTarget): unknown {
  if (error instanceof ConfigFileError) return kubeconfigFailure(error);
  if (!(error instanceof KubeError)) return error;
  const [failure, remedy] = remedyFor(error);
  const message = `${error.message}, on ${clusterText(target)}`;
  return new CliError(failure, message, remedy, { cause: error });
}

/** Builds the error for a kubeconfig that cannot be used. */
export function kubeconfigFailure(error: ConfigFileError, failure: Failure = "failure"): CliError {
  const { file, fault, remedy = "correct it, or choose another with --kubeconfig or --context" } =
    error;
  return new CliError(
    failure,
    `Cannot use ${file}: ${fault}`,
    remedy.charAt(0).toUpperCase() + remedy.slice(1),
    { cause: error },
  );
}

function remedyFor({ status, reason, cause }: KubeError): [Failure, string] {
  if (status === 401) {
    return ["failure", "Log in to that cluster again, or choose another with --context"];
  }
  if (status === 403) {
    return [
      "failure",
      "Ask an administrator of that cluster; kubectl bind doctor lists the rights",
    ];
  }
  if (reason === "DeadlineExceeded") return ["timeout", CHECK_SERVER];
  if (reason === "ConnectionFailed" && isAboutCertificates(cause)) {
    return ["failure", "Check certificate-authority-data and tls-server-name in the kubeconfig"];
  }
  if (status === 0) return ["failure", CHECK_SERVER];
  return ["failure", "Correct that, then run the command again: it is safe to repeat"];
}

const CHECK_SERVER = "Check that the cluster runs and is the one you mean (--context), " +
  "and the network between";

function isAboutCertificates(error: unknown): boolean {
  const fault = error instanceof NoAnswerError ? error.cause : undefined;
  const code = fault instanceof Error && "code" in fault ? String(fault.code) : "";
  return /CERT|ISSUER|SIGNATURE|ALTNAME/.test(code);
}

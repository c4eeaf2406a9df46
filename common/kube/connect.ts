import { XbindError } from "../errors.ts";
import { VERSION } from "../version.ts";
import { KubeClient } from "./client.ts";
import { KubeError } from "./kube_error.ts";
import type { KubeTarget } from "./kube_target.ts";
import { loadTarget } from "./load_target.ts";
import { Transport } from "./transport.ts";

/** How a program reaches its own cluster. */
export interface ConnectOptions {
  /** The program, as API servers see it in `User-Agent`. */
  readonly agent: string;
  /** The value of `--kubeconfig`; empty for the environment or the pod's account. */
  readonly kubeconfig: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The most calls in flight, if not those of the transport. */
  readonly maxInFlight?: number;
  /** Called with every answer, by the host of the API server. */
  readonly onAnswer?: (host: string) => (method: string, status: number) => void;
}

/** A connection to the cluster that the flags and the environment name. */
export interface Cluster {
  readonly kube: KubeClient;
  readonly transport: Transport;
  readonly target: KubeTarget;
  /** Sends a request, so that a wrong address, certificate or credential fails with its remedy. */
  answers(signal: AbortSignal): Promise<void>;
}

/** Finds the cluster that the flags and the environment name. Sends nothing yet. */
export async function connect(
  { agent, kubeconfig, env, maxInFlight, onAnswer }: ConnectOptions,
): Promise<Cluster> {
  const target = await loadTarget({ kubeconfig, env, order: "account-first" });
  const transport = new Transport(target, {
    userAgent: `${agent}/${VERSION}`,
    ...(maxInFlight === undefined ? {} : { maxInFlight }),
    ...(onAnswer ? { onAnswer: onAnswer(new URL(target.server).host) } : {}),
  });
  const kube = new KubeClient(transport);
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
  return { kube, transport, target, answers };
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

import { type Deadline, deadline } from "../../common/time/deadline.ts";
import { formatDuration } from "../../common/time/duration.ts";
import {
  type ConsumerWrites,
  NotServedError,
  objectText,
} from "../../common/consumer/apply_objects.ts";
import { KubeClient } from "../../common/kube/client.ts";
import { runExecPlugin } from "../../common/kube/exec_credential.ts";
import { ConfigFileError, type KubeTarget } from "../../common/kube/kube_target.ts";
import { loadTarget } from "../../common/kube/load_target.ts";
import { Transport } from "../../common/kube/transport.ts";
import { connectThroughProxy } from "../../common/http/connect_through_proxy.ts";
import { proxyFor } from "../../common/http/proxy_for.ts";
import { VERSION } from "../../common/version.ts";
import { CliError } from "../cli_error.ts";
import type { ConsumerOptions } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { clusterText, consumerFailure, kubeconfigFailure } from "./consumer_failure.ts";

/** A connection to a consumer cluster that answers. */
export interface Consumer extends Disposable {
  readonly kube: KubeClient;
  readonly target: KubeTarget;
  /** The version of the API server, such as `v1.36.3`. */
  readonly version: string;
}

/** The first version that enforces the validation rules in our CRDs. */
const OLDEST_MINOR = 25;

/** Connects to the cluster that kubectl would use, and reads its version. */
export async function connectConsumer(
  io: Pick<Io, "env">,
  options: ConsumerOptions,
  signal: AbortSignal,
): Promise<Consumer> {
  const target = await consumerTarget(io, options);
  const transport = new Transport(target, {
    userAgent: `kubectl-bind/${VERSION}`,
    runExec: runExecPlugin,
    connectThroughProxy,
  });
  try {
    const kube = new KubeClient(transport);
    const version = await versionOf(kube, signal);
    refuseOld(version, target);
    return {
      kube,
      target,
      version: version.gitVersion,
      [Symbol.dispose]: () => transport[Symbol.dispose](),
    };
  } catch (error) {
    transport[Symbol.dispose]();
    throw consumerFailure(error, target);
  }
}

/** Connects to the consumer cluster during the work, and names the cluster in failures. */
export async function withConsumer<T>(
  io: Pick<Io, "env" | "signal">,
  options: ConsumerOptions,
  work: (consumer: Consumer) => Promise<T>,
): Promise<T> {
  using consumer = await connectConsumer(io, options, io.signal);
  try {
    return await work(consumer);
  } catch (error) {
    throw consumerFailure(error, consumer.target);
  }
}

/** Prints each object that is applied, and names the cluster in failures. */
export const writesTo = (
  io: Pick<Io, "out">,
  { kube, target }: Consumer,
  signal: AbortSignal,
): ConsumerWrites => ({
  kube,
  signal,
  applied: (object) => io.out([`${objectText(object)} applied`]),
  failed: (what, error) => {
    if (!(error instanceof NotServedError)) return error;
    const message = `Cannot apply ${what} on ${clusterText(target)}: ${error.message}`;
    return new CliError("failure", message, "Install the konnector first: kubectl bind connect");
  },
});

/** Starts the time of `--timeout`; its signal aborts with the error to show. */
export const timeLimit = (ms: number, parent: AbortSignal): Deadline =>
  deadline(
    ms,
    parent,
    new CliError(
      "timeout",
      `Gave up after ${formatDuration(ms)}`,
      "Run the command again, with a longer --timeout if need be: it is safe to repeat",
    ),
  );

async function consumerTarget(io: Pick<Io, "env">, options: ConsumerOptions): Promise<KubeTarget> {
  const { kubeconfig, context } = options;
  try {
    const target = await loadTarget({
      env: io.env,
      order: "file-first",
      ...(kubeconfig ? { kubeconfig } : {}),
      ...(context ? { context } : {}),
    });
    if (context && target.context !== context) {
      throw new ConfigFileError(target.origin, `it has no context "${context}"`);
    }
    return throughProxy(target, io.env);
  } catch (error) {
    if (!(error instanceof ConfigFileError)) throw error;
    // A wrong --kubeconfig or --context is an error of usage.
    throw kubeconfigFailure(error, kubeconfig || context ? "usage" : "failure");
  }
}

/** Chooses the proxy as kubectl does: that of the cluster, else that of the environment. */
function throughProxy(target: KubeTarget, env: Io["env"]): KubeTarget {
  const proxyUrl = target.proxyUrl ?? proxyFor(new URL(target.server), env)?.href;
  if (proxyUrl === undefined) return target;
  if (!/^(https?|socks5h?):\/\/[^/]/i.test(proxyUrl) || !URL.canParse(proxyUrl)) {
    throw new ConfigFileError(target.origin, "its proxy-url is no http, https or socks5 URL");
  }
  return { ...target, proxyUrl };
}

interface ServerVersion {
  readonly gitVersion: string;
  readonly minor: number;
}

async function versionOf(kube: KubeClient, signal: AbortSignal): Promise<ServerVersion> {
  const { major, minor, gitVersion } = await kube.request<Record<string, unknown>>(
    "GET",
    "/version",
    undefined,
    signal,
  );
  const isKnown = major === "1" && typeof minor === "string" && typeof gitVersion === "string";
  return isKnown
    ? { gitVersion, minor: Number.parseInt(minor, 10) }
    : { gitVersion: "of an unknown version", minor: NaN };
}

function refuseOld({ gitVersion, minor }: ServerVersion, target: KubeTarget): void {
  if (!(minor < OLDEST_MINOR)) return;
  throw new CliError(
    "failure",
    `Cannot use ${clusterText(target)}: it runs Kubernetes ${gitVersion}, ` +
      `the konnector's CRDs need 1.${OLDEST_MINOR}`,
    "Upgrade that cluster, or choose another with --context",
  );
}

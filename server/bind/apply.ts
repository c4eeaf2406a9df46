import { CLUSTER_BINDINGS, CONNECTIONS, type KubeObject } from "../../common/api/resources.ts";
import type { ApplyRequest, ApplyResult, Identity } from "../../common/api/wire.ts";
import type { Config } from "../config.ts";
import { XbindError } from "../../common/errors.ts";
import { applyFailed, invalidRequest, kubeconfigRejected } from "../errors.ts";
import {
  applyObjects,
  type ConsumerWrites,
  DISCOVERY_WAIT_MS,
  NotServedError,
  objectText,
  whenAllServed,
} from "../../common/consumer/apply_objects.ts";
import { consumerNamespace } from "../../common/consumer/bundle.ts";
import { konnectorManifest } from "../../common/consumer/konnector_manifest.ts";
import { KubeClient } from "../../common/kube/client.ts";
import {
  decodeKubeconfig,
  InlineKubeconfigError,
  parseInlineKubeconfig,
} from "../../common/kube/inline_kubeconfig.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import type { KubeTarget } from "../../common/kube/kube_target.ts";
import { Transport } from "../../common/kube/transport.ts";
import { FIELD_MANAGERS, isDnsSubdomain } from "../../common/api/names.ts";
import { deadline } from "../../common/time/deadline.ts";
import type { Slots } from "../../common/time/slots.ts";
import { givingWay } from "../../common/time/giving_way.ts";
import { VERSION } from "../../common/version.ts";
import { boundGrant, type BoundGrantDeps } from "./bind.ts";
import { assembleBundle, type BundleDeps } from "./bundle.ts";
import { pinnedLookup } from "./consumer_address.ts";
import { plainReason } from "./plain_reason.ts";

/** Lists the dependencies of `applyToConsumer`. */
export interface ApplyDeps extends BoundGrantDeps, BundleDeps {
  readonly config: Pick<
    Config,
    "konnectorImage" | "applyDenyCidrs" | "applyAllowInsecureTls"
  >;
  /** Keyed by subject. */
  readonly slots: Slots;
  /** For tests; otherwise 60 s. */
  readonly applyTimeoutMs?: number;
  /** For tests; otherwise `DISCOVERY_WAIT_MS`. */
  readonly discoveryWaitMs?: number;
}

const APPLY_TIMEOUT_MS = 60_000;
/** Is larger than any object, and small enough to parse JSON safely at any nesting depth. */
const MAX_ANSWER_BYTES = 2 * 1024 * 1024;

/**
 * Applies the konnector, a bundle, or both to the cluster of a submitted kubeconfig, one object
 * after the other; objects applied before a failure stay.
 */
export async function applyToConsumer(
  deps: ApplyDeps,
  identity: Identity,
  request: ApplyRequest,
  signal: AbortSignal,
): Promise<ApplyResult> {
  const { config, slots } = deps;
  const { applyTimeoutMs = APPLY_TIMEOUT_MS, discoveryWaitMs = DISCOVERY_WAIT_MS } = deps;
  const { export: exportName = "", installKonnector = false } = request;
  if (exportName === "" && !installKonnector) {
    throw invalidRequest(
      "Cannot apply: there is nothing to do; name an export or installKonnector",
    );
  }
  using _slot = await slots.enter(identity.subject, signal); // reading a kubeconfig is slow
  const target = await givingWay(() =>
    submittedTarget(request.kubeconfig, config.applyAllowInsecureTls)
  );
  using limit = deadline(applyTimeoutMs, signal, tooSlow(applyTimeoutMs));
  const checkBind = () => bindCheck(deps, identity, exportName, limit.signal);
  await checkBind(); // first: who may not bind makes the gateway look up no name
  // Check the address first: a Grant for a refused cluster would be useless.
  const lookup = await pinnedLookup(target.server, config.applyDenyCidrs, limit.signal);
  const bundle = exportName === ""
    ? []
    : await provisionedBundle(deps, identity, exportName, limit.signal);

  using transport = consumerTransport(target, lookup);
  const writes: ConsumerWrites = {
    kube: new KubeClient(transport),
    signal: limit.signal,
    failed: consumerFailure,
  };
  const foundation = installKonnector
    ? konnectorManifest(config.konnectorImage)
    : [consumerNamespace()];
  const manager = installKonnector ? FIELD_MANAGERS.installer : FIELD_MANAGERS.gateway;
  await applyObjects(writes, foundation, manager);
  if (bundle.length > 0) {
    // Do not send credentials to a cluster that cannot use them.
    await whenAllServed(writes, [CONNECTIONS, CLUSTER_BINDINGS], discoveryWaitMs);
    await checkBind(); // all this took up to a minute
    await applyObjects(writes, bundle, FIELD_MANAGERS.gateway);
  }
  return { applied: [...foundation, ...bundle].map(objectText) };
}

/** Reads the cluster and user that a caller sent as a kubeconfig in base64. */
function submittedTarget(base64: string, allowInsecureTls: boolean): KubeTarget {
  try {
    const origin = "the submitted kubeconfig";
    return parseInlineKubeconfig(decodeKubeconfig(base64), { origin, allowInsecureTls });
  } catch (error) {
    throw error instanceof InlineKubeconfigError ? kubeconfigRejected(error.message) : error;
  }
}

/** Describes a failure in our own words, because the cluster's answers may contain credentials. */
function consumerFailure(what: string, error: unknown): XbindError {
  const action = `apply ${what} to the consumer cluster`;
  if (error instanceof NotServedError) {
    return applyFailed(action, `${error.message}; install the konnector first`);
  }
  const isAnswer = error instanceof KubeError && error.status > 0;
  return applyFailed(action, plainReason(error), isAnswer ? undefined : error);
}

/** Throws unless the identity may bind the Export. Installing the konnector needs no right. */
async function bindCheck(
  { authorizer }: ApplyDeps,
  identity: Identity,
  exportName: string,
  signal: AbortSignal,
): Promise<void> {
  if (exportName === "" || !isDnsSubdomain(exportName)) return; // the bind refuses a bad name
  await asApplyFailure(async () => await authorizer?.checkBind(identity, exportName, signal));
}

/** Binds the Export and returns its bundle. */
const provisionedBundle = (
  deps: ApplyDeps,
  identity: Identity,
  exportName: string,
  signal: AbortSignal,
): Promise<KubeObject[]> =>
  asApplyFailure(async () => {
    const grant = await boundGrant(deps, identity, exportName, signal);
    return await assembleBundle(deps, grant, signal);
  });

/** Makes an Export that cannot be bound APPLY_FAILED, not 404. */
async function asApplyFailure<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof XbindError)) throw error;
    if (error.code !== "EXPORT_NOT_FOUND" && error.code !== "EXPORT_NOT_READY") throw error;
    throw new XbindError("APPLY_FAILED", error.message, { cause: error });
  }
}

/** Makes a transport that does not share the backend's credentials, CA or proxies. */
const consumerTransport = (
  target: KubeTarget,
  lookup: NonNullable<ConstructorParameters<typeof Transport>[1]["lookup"]>,
): Transport =>
  new Transport(target, {
    userAgent: `xbind-backend/${VERSION}`,
    maxInFlight: 1,
    maxAnswerBytes: MAX_ANSWER_BYTES,
    lookup,
  });

const tooSlow = (ms: number) =>
  applyFailed("apply to the consumer cluster", `it took longer than ${ms / 1000} s`);

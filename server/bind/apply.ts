import { CLUSTER_BINDINGS, CONNECTIONS, type KubeObject } from "../../common/api/resources.ts";
import type { ApplyRequest, ApplyResult, Identity } from "../../common/api/wire.ts";
import type { Config } from "../config.ts";
import { XbindError } from "../../common/errors.ts";
import { applyFailed, invalidRequest } from "../errors.ts";
import { konnectorManifest } from "../../common/consumer/konnector_manifest.ts";
import { KubeClient } from "../../common/kube/client.ts";
import type { KubeTarget } from "../../common/kube/kube_target.ts";
import { Transport } from "../../common/kube/transport.ts";
import { CONSUMER_NAMESPACE, FIELD_MANAGERS } from "../../common/api/names.ts";
import { deadline } from "../../common/time/deadline.ts";
import type { Slots } from "../../common/time/slots.ts";
import { givingWay } from "../../common/time/giving_way.ts";
import { VERSION } from "../../common/version.ts";
import { type ProvisionDeps, provisionGrant } from "./bind.ts";
import { assembleBundle, type BundleDeps } from "./bundle.ts";
import { pinnedLookup } from "./consumer_address.ts";
import { ConsumerWriter, DISCOVERY_WAIT_MS } from "./consumer_writer.ts";
import { parseSubmittedKubeconfig } from "./submitted_kubeconfig.ts";

/** What an apply needs. */
export interface ApplyDeps extends ProvisionDeps, BundleDeps {
  readonly config: Pick<
    Config,
    "konnectorImage" | "applyDenyCidrs" | "applyAllowInsecureTls"
  >;
  /** By subject. */
  readonly slots: Slots;
  /** For tests; otherwise 60 s. */
  readonly applyTimeoutMs?: number;
  /** For tests; otherwise `DISCOVERY_WAIT_MS`. */
  readonly discoveryWaitMs?: number;
}

const APPLY_TIMEOUT_MS = 60_000;
/** No object is larger, and JSON of this size can be parsed, however it is nested. */
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
  using _place = await slots.enter(identity.subject, signal); // first, as reading a kubeconfig costs time
  const target = await givingWay(() =>
    parseSubmittedKubeconfig(request.kubeconfig, {
      allowInsecureTls: config.applyAllowInsecureTls,
    })
  );
  using limit = deadline(applyTimeoutMs, signal, tooSlow(applyTimeoutMs));
  // Before anything is provisioned: a Grant for a cluster that is refused would be of no use.
  const lookup = await pinnedLookup(target.server, config.applyDenyCidrs, limit.signal);
  const bundle = exportName === ""
    ? []
    : await provisionedBundle(deps, identity, exportName, limit.signal);

  using transport = consumerTransport(target, lookup);
  const writer = new ConsumerWriter(new KubeClient(transport), limit.signal);
  const foundation = installKonnector ? konnectorManifest(config.konnectorImage) : [NAMESPACE];
  const manager = installKonnector ? FIELD_MANAGERS.installer : FIELD_MANAGERS.gateway;
  await writer.apply(foundation, manager);
  if (bundle.length > 0) {
    // Credentials stay away from a cluster that could not use them.
    await writer.whenServed([CONNECTIONS, CLUSTER_BINDINGS], discoveryWaitMs);
    await writer.apply(bundle, FIELD_MANAGERS.gateway);
  }
  return { applied: [...foundation, ...bundle].map(displayName) };
}

const NAMESPACE: KubeObject = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: CONSUMER_NAMESPACE },
};

const displayName = ({ kind, metadata }: KubeObject): string => `${kind}/${metadata.name}`;

/** In an apply an Export that cannot be bound is a failure like any other, not a missing page. */
async function provisionedBundle(
  deps: ApplyDeps,
  identity: Identity,
  exportName: string,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  try {
    const grant = await provisionGrant(deps, identity, exportName, signal);
    return await assembleBundle(deps, grant, signal);
  } catch (error) {
    if (!(error instanceof XbindError)) throw error;
    if (error.code !== "EXPORT_NOT_FOUND" && error.code !== "EXPORT_NOT_READY") throw error;
    throw new XbindError("APPLY_FAILED", error.message, { cause: error });
  }
}

/** Connections of its own, which know nothing of the backend's credentials, CA or proxies. */
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

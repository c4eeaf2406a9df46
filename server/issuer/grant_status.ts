import { conditionFor, isSameCondition } from "../../common/api/conditions.ts";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import {
  type Condition,
  condition,
  type Grant,
  GRANTS,
  type GrantStatus,
  isDeleting,
  type KubeObject,
} from "../../common/api/resources.ts";
import { boundaryName, FIELD_MANAGERS, LABELS, tokenSecretName } from "../../common/api/names.ts";
import { fewOf } from "../../common/few_of.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import { KubeError } from "../../common/kube/kube_error.ts";
import { auditLine } from "../../common/log/audit_line.ts";
import type { Log } from "../../common/log/log.ts";
import type { IssuerCaches } from "./issued_caches.ts";

/** Whether a Grant is Ready, and if not, why. */
export interface Readiness {
  readonly ready: boolean;
  readonly reason:
    | "AsExpected"
    | "Pending"
    | "APINotExported"
    | "ProvisioningFailed"
    | "NotAuthorized"
    | "LeftBehind";
  readonly message: string;
  /** Related rules that the Export does not offer; absent if they were not checked. */
  readonly relatedMissing?: readonly string[];
}

/** Says that everything is in place. */
export const ISSUED: Readiness = {
  ready: true,
  reason: "AsExpected",
  message: "Credentials are issued",
};

/** Says that something has to happen first. */
export const pending = (waitsFor: string): Readiness => ({
  ready: false,
  reason: "Pending",
  message: `Waiting for ${waitsFor}`,
});

/** Says that these APIs were never exported, so the Grant gets no rights to them. */
export const notExported = (apis: readonly string[]): Readiness => ({
  ready: false,
  reason: "APINotExported",
  message: `These CRDs are missing or lack the label ${LABELS.exported}=true: ${apis.join(", ")}`,
});

/** Says that RBAC does not let the owner bind the Export, so the Grant has no rights. */
export const NOT_AUTHORIZED: Readiness = {
  ready: false,
  reason: "NotAuthorized",
  message: "The rights are taken away until RBAC lets the owner bind the Export again",
};

/** Says that provisioning fails until its cause is removed. */
export const failed = (message: string): Readiness => ({
  ready: false,
  reason: "ProvisioningFailed",
  message,
});

/** More objects than this are counted, but not named. */
export const MOST_NAMED = 3;

/** Says that the Grant is being revoked, but that these objects are still there. */
export const leftBehind = (objects: readonly string[]): Readiness => ({
  ready: false,
  reason: "LeftBehind",
  message: `Revoked, but these objects are still there: ${fewOf(objects, MOST_NAMED)}`,
});

/** Ends a provisioning that has to wait; after `lookAgainMs` even if no event comes. */
export class NotYet extends Error {
  override readonly name = "NotYet";
  readonly waitsFor: string;
  readonly lookAgainMs: number | undefined;

  constructor(waitsFor: string, lookAgainMs?: number) {
    super(`Waiting for ${waitsFor}`);
    this.waitsFor = waitsFor;
    this.lookAgainMs = lookAgainMs;
  }
}

/** Ends a provisioning that cannot succeed; the message names the object and the remedy. */
export class ProvisioningFault extends Error {
  override readonly name = "ProvisioningFault";
}

/** Says that an object of another party has the name of ours; the issuer never takes it over. */
export const foreignObject = (object: KubeObject, label: string): ProvisioningFault =>
  new ProvisioningFault(
    `${named(object)} exists and does not carry the label ${label}: remove or rename it`,
  );

/** Says that a Secret of another type has the name of ours; the issuer never takes it over. */
export const otherType = (object: KubeObject, type: string): ProvisioningFault =>
  new ProvisioningFault(`${named(object)} exists and is not of type ${type}: remove it`);

const named = ({ kind, metadata: { name, namespace } }: KubeObject): string =>
  `${kind} "${namespace ? `${namespace}/${name}` : name}"`;

/** Returns the sentence for the condition, or undefined if a retry may succeed. */
export function faultMessage(error: unknown): string | undefined {
  if (error instanceof ProvisioningFault) return error.message;
  if (!(error instanceof KubeError)) return undefined;
  const isRefusal = error.status >= 400 && error.status < 500;
  const isPassing = ["AlreadyExists", "Conflict", "NotFound", "Unauthorized", "TooManyRequests"]
    .includes(error.reason);
  return isRefusal && !isPassing ? error.message : undefined;
}

/** What writing the status of a Grant needs. */
export interface StatusDeps {
  readonly kube: KubeClient;
  readonly caches: Pick<IssuerCaches, "grants">;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
  readonly now: () => number;
}

/** Writes the readiness of a Grant if it changed, and records it as an Event and a log line. */
export async function settle(
  { kube, caches, recordEvent, log, now }: StatusDeps,
  grant: Grant,
  readiness: Readiness,
  signal: AbortSignal,
): Promise<void> {
  const update = statusUpdate(grant, readiness, new Date(now()));
  if (!update) return;
  const before = condition(grant, "Ready");
  const relatedBefore = condition(grant, RELATED_NOT_EXPORTED);
  const written = await kube.applyStatus(GRANTS, update, FIELD_MANAGERS.issuer, signal);
  caches.grants.learn(written, FIELD_MANAGERS.issuer);
  const related = condition(update, RELATED_NOT_EXPORTED);
  if (related && related.message !== relatedBefore?.message) {
    const { type, message } = related;
    const line = auditLine("grant.not-provisioned", type, { message, ...about(grant) });
    log.warn("Grant asks for more than its Export offers", line);
    recordEvent(grant, "Warning", type, message);
  }
  const { ready, reason, message } = readiness;
  if (ready && before?.status !== "True") {
    log.info("Grant provisioned", auditLine("grant.provisioned", "ok", about(grant)));
    recordEvent(grant, "Normal", "Provisioned", message);
  } else if (!ready && reason !== "Pending" && before?.message !== message) {
    const details = { message, ...about(grant) };
    if (isDeleting(grant)) {
      log.warn("Grant not revoked", auditLine("grant.not-revoked", reason, details));
    } else {
      log.warn("Grant not provisioned", auditLine("grant.not-provisioned", reason, details));
    }
    recordEvent(grant, "Warning", reason, message);
  }
}

/** Returns the fields that log lines about a Grant have. */
export const about = ({ metadata, spec }: Grant) => ({
  grant: metadata.name,
  subject: spec.identity.subject,
  export: spec.exportName,
});

/**
 * Returns the Grant to apply as the issuer's part of the status, or undefined if nothing changed.
 * It leaves out the conditions of other writers, because applying them would make them ours.
 */
export function statusUpdate(grant: Grant, readiness: Readiness, now: Date): Grant | undefined {
  const { name } = grant.metadata;
  const places = {
    namespace: boundaryName(grant.spec.identity.subject),
    serviceAccount: name,
    tokenSecret: tokenSecretName(name),
  };
  const { reason, message } = readiness;
  const status = readiness.ready ? "True" : "False";
  const ready = conditionFor(grant, { type: "Ready", status, reason, message }, now);
  const related = relatedCondition(grant, readiness.relatedMissing, now);
  const isSame = saysSo(grant.status, places) &&
    isSameCondition(condition(grant, "Ready"), ready) &&
    isSameCondition(condition(grant, RELATED_NOT_EXPORTED), related);
  if (isSame) return undefined;
  return {
    apiVersion: IAM_API_VERSION,
    kind: "Grant",
    metadata: { name },
    status: { ...places, conditions: [ready, ...(related ? [related] : [])] },
  } as Grant;
}

/** Names related rules without rights; a Grant with this condition can be Ready. */
const RELATED_NOT_EXPORTED = "RelatedNotExported";

/** Repeats the condition if the rules were not checked: an apply without it would drop it. */
function relatedCondition(
  grant: Grant,
  missing: readonly string[] | undefined,
  now: Date,
): Condition | undefined {
  if (!missing) return condition(grant, RELATED_NOT_EXPORTED);
  if (missing.length === 0) return undefined;
  const { exportName } = grant.spec;
  const statement = {
    type: RELATED_NOT_EXPORTED,
    status: "True",
    reason: "NotOffered",
    message: `Export "${exportName}" does not offer, so no rights are given: ${missing.join(", ")}`,
  } as const;
  return conditionFor(grant, statement, now);
}

const saysSo = (
  status: GrantStatus | undefined,
  places: Required<Omit<GrantStatus, "conditions">>,
) =>
  status?.namespace === places.namespace &&
  status.serviceAccount === places.serviceAccount &&
  status.tokenSecret === places.tokenSecret;

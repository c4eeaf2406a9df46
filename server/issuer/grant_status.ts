import { IAM_API_VERSION } from "../../common/api/groups.ts";
import {
  type Condition,
  condition,
  type Grant,
  type GrantStatus,
} from "../../common/api/resources.ts";
import { boundaryName, LABELS, tokenSecretName } from "../../common/api/names.ts";

/** The issuer's readiness on a Grant. */
export interface Readiness {
  readonly ready: boolean;
  readonly reason:
    | "AsExpected"
    | "Pending"
    | "APINotExported"
    | "ProvisioningFailed"
    | "LeftBehind";
  readonly message: string;
  /** Related rules that the Export does not offer; absent when nobody looked. */
  readonly relatedMissing?: readonly string[];
}

/** Everything is in place. */
export const ISSUED: Readiness = {
  ready: true,
  reason: "AsExpected",
  message: "Credentials are issued",
};

/** Something has to happen first. */
export const pending = (waitsFor: string): Readiness => ({
  ready: false,
  reason: "Pending",
  message: `Waiting for ${waitsFor}`,
});

/** These APIs were never exported, so no rights to them are given. */
export const notExported = (apis: readonly string[]): Readiness => ({
  ready: false,
  reason: "APINotExported",
  message: `These CRDs are missing or lack the label ${LABELS.exported}=true: ${apis.join(", ")}`,
});

/** Provisioning cannot succeed as things are. */
export const failed = (message: string): Readiness => ({
  ready: false,
  reason: "ProvisioningFailed",
  message,
});

/** The Grant is being revoked, and these objects do not go. */
export const leftBehind = (objects: readonly string[]): Readiness => ({
  ready: false,
  reason: "LeftBehind",
  message: `Revoked, but this does not go: ${fewOf(objects)}`,
});

const FEW = 3;

/** The first few names, and how many more there are. */
export const fewOf = (names: readonly string[]): string =>
  names.length <= FEW
    ? names.join(", ")
    : `${names.slice(0, FEW).join(", ")} and ${names.length - FEW} more`;

/**
 * The Grant to apply as the issuer's part of the status, or undefined when it says so already.
 * Conditions of other writers are left out: applying them would make them ours.
 */
export function statusUpdate(grant: Grant, readiness: Readiness, now: Date): Grant | undefined {
  const { name } = grant.metadata;
  const places = {
    namespace: boundaryName(grant.spec.identity.subject),
    serviceAccount: name,
    tokenSecret: tokenSecretName(name),
  };
  const present = condition(grant, "Ready");
  const status = readiness.ready ? "True" : "False";
  const ready: Condition = {
    type: "Ready",
    status,
    reason: readiness.reason,
    message: readiness.message,
    lastTransitionTime: present?.status === status ? present.lastTransitionTime : rfc3339(now),
    ...observed(grant),
  };
  const related = relatedCondition(grant, readiness.relatedMissing, now);
  const isSame = saysSo(grant.status, places) && sameCondition(present, ready) &&
    sameCondition(condition(grant, RELATED_NOT_EXPORTED), related);
  if (isSame) return undefined;
  return {
    apiVersion: IAM_API_VERSION,
    kind: "Grant",
    metadata: { name },
    status: { ...places, conditions: [ready, ...(related ? [related] : [])] },
  } as Grant;
}

/** The condition that names related rules without rights; the Grant may be Ready all the same. */
export const RELATED_NOT_EXPORTED = "RelatedNotExported";

/** An apply gives up what it leaves out, so a condition that was not looked at is repeated. */
function relatedCondition(
  grant: Grant,
  missing: readonly string[] | undefined,
  now: Date,
): Condition | undefined {
  const present = condition(grant, RELATED_NOT_EXPORTED);
  if (!missing) return present;
  if (missing.length === 0) return undefined;
  const { exportName } = grant.spec;
  return {
    type: RELATED_NOT_EXPORTED,
    status: "True",
    reason: "NotOffered",
    message: `Export "${exportName}" does not offer, so no rights are given: ${missing.join(", ")}`,
    lastTransitionTime: present?.lastTransitionTime ?? rfc3339(now),
    ...observed(grant),
  };
}

const saysSo = (
  status: GrantStatus | undefined,
  places: Required<Omit<GrantStatus, "conditions">>,
) =>
  status?.namespace === places.namespace &&
  status.serviceAccount === places.serviceAccount &&
  status.tokenSecret === places.tokenSecret;

const sameCondition = (a: Condition | undefined, b: Condition | undefined): boolean =>
  a?.status === b?.status && a?.reason === b?.reason && a?.message === b?.message &&
  a?.observedGeneration === b?.observedGeneration;

const rfc3339 = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, "Z");

const observed = ({ metadata: { generation } }: Grant) =>
  generation === undefined ? {} : { observedGeneration: generation };

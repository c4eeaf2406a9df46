import { IAM_API_VERSION } from "../api/groups.ts";
import { type Condition, condition, type Grant, type GrantStatus } from "../api/resources.ts";
import { boundaryName, LABELS, tokenSecretName } from "../names.ts";

/** The issuer's verdict on a Grant. */
export interface Verdict {
  readonly ready: boolean;
  readonly reason: "AsExpected" | "Pending" | "APINotExported" | "ProvisioningFailed";
  readonly message: string;
}

/** Everything is in place. */
export const ISSUED: Verdict = {
  ready: true,
  reason: "AsExpected",
  message: "Credentials are issued",
};

/** Something has to happen first. */
export const pending = (waitsFor: string): Verdict => ({
  ready: false,
  reason: "Pending",
  message: `Waiting for ${waitsFor}`,
});

/** These APIs were never exported, so no rights to them are given. */
export const notExported = (apis: readonly string[]): Verdict => ({
  ready: false,
  reason: "APINotExported",
  message: `These CRDs are missing or lack the label ${LABELS.exported}=true: ${apis.join(", ")}`,
});

/** Provisioning cannot succeed as things are. */
export const failed = (message: string): Verdict => ({
  ready: false,
  reason: "ProvisioningFailed",
  message,
});

/**
 * The Grant to apply as the issuer's part of the status, or undefined when it says so already.
 * Conditions of other writers are left out: applying them would make them ours.
 */
export function statusUpdate(grant: Grant, verdict: Verdict, now: Date): Grant | undefined {
  const { name, generation } = grant.metadata;
  const places = {
    namespace: boundaryName(grant.spec.identity.subject),
    serviceAccount: name,
    tokenSecret: tokenSecretName(name),
  };
  const present = condition(grant, "Ready");
  const status = verdict.ready ? "True" : "False";
  const ready: Condition = {
    type: "Ready",
    status,
    reason: verdict.reason,
    message: verdict.message,
    lastTransitionTime: present?.status === status
      ? present.lastTransitionTime
      : now.toISOString().replace(/\.\d+Z$/, "Z"),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  if (saysSo(grant.status, places) && sameCondition(present, ready)) return undefined;
  return {
    apiVersion: IAM_API_VERSION,
    kind: "Grant",
    metadata: { name },
    status: { ...places, conditions: [ready] },
  } as Grant;
}

const saysSo = (
  status: GrantStatus | undefined,
  places: Required<Omit<GrantStatus, "conditions">>,
) =>
  status?.namespace === places.namespace &&
  status.serviceAccount === places.serviceAccount &&
  status.tokenSecret === places.tokenSecret;

const sameCondition = (a: Condition | undefined, b: Condition): boolean =>
  a?.status === b.status && a.reason === b.reason && a.message === b.message &&
  a.observedGeneration === b.observedGeneration;

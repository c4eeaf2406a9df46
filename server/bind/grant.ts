import { isDeepStrictEqual } from "node:util";
import { IAM_API_VERSION } from "../../common/api/groups.ts";
import {
  type Export,
  type Grant,
  type GrantSpec,
  isReady,
  type RelatedResource,
} from "../../common/api/resources.ts";
import type { Identity } from "../../common/api/wire.ts";
import { invalidRequest } from "../errors.ts";
import { ANNOTATIONS, CLEANUP_FINALIZER, grantName } from "../../common/api/names.ts";
import type { Pickup } from "./pickup.ts";

/** The annotations that one bind leaves on a Grant. */
export type Stamp = Readonly<Record<string, string>>;

/** A change of a Grant; null removes a field. */
export interface GrantEdit {
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly spec?: object;
}

const MAX_TEXT_LENGTH = 2048;
const MAX_GROUPS = 1000;
/** Far below the size that the API server stores for one object. */
const MAX_GROUPS_LENGTH = 128 * 1024;
/** How much of its life a pickup may lose before its bind answers: 5 s of 5 min. */
const LOST_LIFE = 1 / 60;

/** Returns the Grant that this identity should have of this Export, as the Export is now. */
export const grantFor = (identity: Identity, { metadata, spec }: Export): Grant => {
  const { conflictPolicy, relatedResources = [] } = spec.defaults ?? {};
  return {
    apiVersion: IAM_API_VERSION,
    kind: "Grant",
    metadata: { name: grantName(metadata.name, identity.subject) },
    spec: {
      identity: identityOf(identity),
      exportName: metadata.name,
      apis: spec.apis.map(({ name }) => ({ name })),
      ...(conflictPolicy ? { conflictPolicy } : {}),
      ...(relatedResources.length > 0 ? { relatedResources: relatedResources.map(rule) } : {}),
    },
  };
};

/** Sets the default that the API server would set, so that a stored Grant compares equal. */
const rule = (related: RelatedResource): RelatedResource => ({ ...related, group: "" });

function identityOf({ subject, displayName = "", groups = [] }: Identity): Identity {
  // The API server would store another text, and two subjects could become one.
  if (subject === "" || subject.length > MAX_TEXT_LENGTH || !subject.isWellFormed()) {
    throw invalidRequest(
      `Cannot bind: the subject is empty, broken or over ${MAX_TEXT_LENGTH} characters`,
    );
  }
  const name = displayName.slice(0, MAX_TEXT_LENGTH).toWellFormed();
  const kept = keptGroups(groups);
  return {
    subject,
    ...(name ? { displayName: name } : {}),
    ...(kept.length > 0 ? { groups: kept } : {}),
  };
}

/** Groups that do not fit are left out, none is cut short: fewer groups never mean more rights. */
function keptGroups(groups: readonly string[]): string[] {
  const kept: string[] = [];
  let length = 0;
  for (const group of groups) {
    if (group.length > MAX_TEXT_LENGTH) continue;
    length += group.length;
    if (kept.length === MAX_GROUPS || length > MAX_GROUPS_LENGTH) break;
    kept.push(group.toWellFormed());
  }
  return kept;
}

/** Whether both Grants give the same Export to the same identity; these two never change. */
export const isSameRight = ({ spec }: Grant, wanted: Grant): boolean =>
  spec.identity.subject === wanted.spec.identity.subject &&
  spec.exportName === wanted.spec.exportName;

/** Adds to the wanted Grant everything that a bind would otherwise have to write later. */
export const grantToCreate = (wanted: Grant, stamp: Stamp, wantedUntil: Date): Grant => ({
  ...wanted,
  metadata: {
    ...wanted.metadata,
    annotations: { ...stamp, [ANNOTATIONS.wantedUntil]: wantedUntil.toISOString() },
    finalizers: [CLEANUP_FINALIZER], // the issuer would have to add it, and a bind waits for that
  },
});

/** Returns what the stored Grant lacks: the wanted spec, or the note that a bind waits for it. */
export function grantEdit(
  stored: Grant,
  wanted: Grant,
  wantedUntil: Date,
  now: Date,
): GrantEdit | undefined {
  const annotations = { [ANNOTATIONS.wantedUntil]: wantedUntil.toISOString() };
  if (!isDeepStrictEqual(stored.spec, wanted.spec)) {
    return { annotations, spec: replacing(wanted.spec) };
  }
  const noted = Date.parse(stored.metadata.annotations?.[ANNOTATIONS.wantedUntil] ?? "");
  return isReady(stored) || noted > now.getTime() ? undefined : { annotations };
}

/** The spec as a merge patch that also removes the fields it does not have. */
const replacing = ({ identity, ...spec }: GrantSpec) => ({
  conflictPolicy: null,
  relatedResources: null,
  ...spec,
  identity: { displayName: null, groups: null, ...identity },
});

/** Returns the stamp of a bind at this time; without a pickup it only says when. */
export const stampFor = (pickup: Pickup | undefined, at: Date): Stamp => ({
  [ANNOTATIONS.boundAt]: at.toISOString(),
  ...(pickup
    ? {
      [ANNOTATIONS.pickupSha256]: pickup.hash,
      [ANNOTATIONS.pickupExpiry]: new Date(at.getTime() + pickup.ttlMs).toISOString(),
    }
    : {}),
});

/** Whether the Grant has this stamp, and nearly all of the pickup's life is left. */
export function hasStamp({ metadata }: Grant, stamp: Stamp, now: Date): boolean {
  const { [ANNOTATIONS.boundAt]: boundAt = "", [ANNOTATIONS.pickupExpiry]: expiry } = stamp;
  const annotations = metadata.annotations ?? {};
  if (!Object.keys(stamp).every((key) => annotations[key] === stamp[key])) return false;
  if (expiry === undefined) return true;
  const [bornMs, endMs] = [Date.parse(boundAt), Date.parse(expiry)];
  return now.getTime() - bornMs <= (endMs - bornMs) * LOST_LIFE;
}

/** Puts a stamp on a Ready Grant; a new pickup is unused. */
export const stampEdit = (stamp: Stamp): GrantEdit => ({
  annotations: {
    ...stamp,
    ...(ANNOTATIONS.pickupSha256 in stamp ? { [ANNOTATIONS.pickupConsumed]: null } : {}),
    [ANNOTATIONS.wantedUntil]: null,
  },
});

/** When the pickup on a Grant ends, RFC 3339. */
export const expiryOn = ({ metadata }: Grant): string =>
  metadata.annotations?.[ANNOTATIONS.pickupExpiry] ?? "";

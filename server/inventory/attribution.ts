import type { Grant } from "../../common/api/resources.ts";
import type { LeaveOut } from "./leave_out.ts";
import { boundaryOf, connectionKey, countsFor, type Heartbeat } from "../provider/heartbeats.ts";
import type { Texts } from "./memo.ts";
import { compare } from "../../common/api/selector.ts";

/** The part of a `heartbeatCache` that looks up heartbeats. */
export interface HeartbeatLookup {
  find(index: "connection", value: string): Iterable<Heartbeat>;
}

/** A heartbeat that counts for a Grant. */
export type CountingHeartbeat = Heartbeat & {
  readonly consumerUid: string;
  readonly renewTimeMs: number;
};

/** Yields the heartbeats that count for a Grant. It reads only the Leases of that Grant. */
export function* countingHeartbeats(
  heartbeats: HeartbeatLookup,
  grant: Grant,
): Generator<CountingHeartbeat> {
  const key = connectionKey(boundaryOf(grant), grant.metadata.name);
  for (const each of heartbeats.find("connection", key)) {
    if (countsFor(each, grant)) yield each as CountingHeartbeat;
  }
}

/**
 * Texts by the origin of objects, such as the names of identities or clusters. A cluster that one
 * identity uses has one text. A cluster that several use has one for each Grant.
 */
export type OriginTexts = Texts;

/** Returns the text for an object from a cluster; `grant` is the Grant that the object names. */
export const textOfOrigin = (
  texts: OriginTexts,
  consumerUid: string,
  grant: string | undefined,
): string | undefined =>
  texts.get(originKey(consumerUid)) ??
    (grant === undefined ? undefined : texts.get(originKey(consumerUid, grant)));

/** Returns the key of an origin; without a Grant, of a whole cluster. No Grant has a slash. */
export const originKey = (consumerUid: string, grant = ""): string => `${grant}/${consumerUid}`;

interface Owner {
  readonly subject: string;
  readonly grant: string;
  readonly text: string;
}

/** Shows an identity to people. */
const displayNameOf = ({ displayName }: Grant["spec"]["identity"]): string =>
  typeof displayName === "string" ? displayName : "";

/**
 * Finds the display names of the identities of each consumer cluster by its heartbeats. A cluster
 * with heartbeats for two identities belongs to neither, because anyone can write a foreign UID
 * into a Lease. Only the Grant that an object names tells then whose object it is.
 */
export function attributionOf(
  grants: Iterable<Grant>,
  heartbeats: HeartbeatLookup,
  leaveOut: LeaveOut = () => {},
): OriginTexts {
  const ownersByUid = new Map<string, Owner[]>();
  for (const grant of grants) {
    try {
      const { identity } = grant.spec;
      const { subject } = identity;
      const owner = { subject, grant: grant.metadata.name, text: displayNameOf(identity) };
      for (const { consumerUid } of countingHeartbeats(heartbeats, grant)) {
        const others = ownersByUid.get(consumerUid);
        if (others) others.push(owner);
        else ownersByUid.set(consumerUid, [owner]);
      }
    } catch (error) {
      leaveOut(grant, error);
    }
  }
  const identities = new Map<string, string>();
  for (const [uid, owners] of ownersByUid) {
    const isShared = owners.some(({ subject }) => subject !== owners[0]?.subject);
    // Grants of one identity can have different display names. That of the first Grant by name
    // counts, so that the result does not depend on the order of the cache.
    if (!isShared) owners.sort((a, b) => compare(a.grant, b.grant));
    for (const { grant, text } of owners) {
      const key = isShared ? originKey(uid, grant) : originKey(uid);
      if (text && !identities.has(key)) identities.set(key, text);
    }
  }
  return identities;
}

/** Returns the Export of each Grant. */
export function exportsByGrant(grants: Iterable<Grant>): Texts {
  const exports = new Map<string, string>();
  for (const { metadata: { name }, spec } of grants) {
    if (typeof spec?.exportName === "string") exports.set(name, spec.exportName);
  }
  return exports;
}

import type { Grant } from "../../common/api/resources.ts";
import type { ReportBroken } from "./catalog.ts";
import { boundaryOf, connectionKey, countsFor, type Heartbeat } from "../provider/heartbeats.ts";
import { compare } from "./selector.ts";

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

/** The display name of an identity, by the UID of each consumer cluster that only it uses. */
export type Attribution = ReadonlyMap<string, string>;

interface Owner {
  readonly subject: string;
  readonly grant: string;
  readonly displayName: string;
}

/**
 * Finds the identity of each consumer cluster by its heartbeats. A cluster with heartbeats for two
 * identities belongs to neither, because anyone can write a foreign UID into a Lease.
 */
export function attributionOf(
  grants: Iterable<Grant>,
  heartbeats: HeartbeatLookup,
  report: ReportBroken = () => {},
): Attribution {
  const owners = new Map<string, Owner | "several">();
  for (const grant of grants) {
    try {
      const { subject, displayName: name } = grant.spec.identity;
      const displayName = typeof name === "string" ? name : "";
      const owner = { subject, grant: grant.metadata.name, displayName };
      for (const { consumerUid } of countingHeartbeats(heartbeats, grant)) {
        owners.set(consumerUid, ownerOfBoth(owners.get(consumerUid), owner));
      }
    } catch (error) {
      report(grant, error);
    }
  }
  const identities = new Map<string, string>();
  for (const [uid, owner] of owners) {
    if (owner !== "several" && owner.displayName) identities.set(uid, owner.displayName);
  }
  return identities;
}

function ownerOfBoth(known: Owner | "several" | undefined, owner: Owner): Owner | "several" {
  if (!known) return owner;
  if (known === "several" || known.subject !== owner.subject) return "several";
  if (!owner.displayName) return known;
  // Grants of one identity can have different display names. Take that of the first Grant by name,
  // so that the result does not depend on the order of the cache.
  return !known.displayName || compare(owner.grant, known.grant) < 0 ? owner : known;
}

/** Returns whether two attributions are equal. */
export function sameAttribution(a: Attribution, b: Attribution): boolean {
  if (a.size !== b.size) return false;
  for (const [uid, identity] of a) if (b.get(uid) !== identity) return false;
  return true;
}

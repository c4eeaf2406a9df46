import type { Grant } from "../../common/api/resources.ts";
import type { ReportBroken } from "./catalog.ts";
import { boundaryOf, connectionKey, countsFor, type Heartbeat } from "../provider/heartbeats.ts";
import { compare } from "./selector.ts";

/** Where heartbeats are looked up; a `heartbeatCache` is one. */
export interface HeartbeatLookup {
  find(index: "connection", value: string): Iterable<Heartbeat>;
}

/** A heartbeat that speaks for a Grant. */
export type CountingHeartbeat = Heartbeat & {
  readonly consumerUid: string;
  readonly renewTimeMs: number;
};

/** The heartbeats that count for a Grant; the cost is that of the Grant's own Leases. */
export function* countingHeartbeats(
  heartbeats: HeartbeatLookup,
  grant: Grant,
): Generator<CountingHeartbeat> {
  const key = connectionKey(boundaryOf(grant), grant.metadata.name);
  for (const each of heartbeats.find("connection", key)) {
    if (countsFor(each, grant)) yield each as CountingHeartbeat;
  }
}

/** Display names of identities by the UID of the consumer cluster that is theirs alone. */
export type Attribution = ReadonlyMap<string, string>;

/**
 * Whom a consumer cluster belongs to, by its heartbeats. A cluster that heartbeats for two
 * identities belongs to neither: anybody can write another's UID into a Lease.
 */
export function attributionOf(
  grants: Iterable<Grant>,
  heartbeats: HeartbeatLookup,
  report: ReportBroken = () => {},
): Attribution {
  const owners = new Map<
    string,
    { subject: string; grant: string; displayName?: string } | "many"
  >();
  for (const grant of grants) {
    try {
      const { subject, displayName } = grant.spec.identity;
      const owner = {
        subject,
        grant: grant.metadata.name,
        ...(typeof displayName === "string" && displayName !== "" ? { displayName } : {}),
      };
      for (const { consumerUid } of countingHeartbeats(heartbeats, grant)) {
        const known = owners.get(consumerUid);
        if (known === undefined) owners.set(consumerUid, owner);
        else if (known === "many") continue;
        else if (known.subject !== subject) owners.set(consumerUid, "many");
        // Grants of one identity may have been made under different display names: by name, so
        // that the answer does not depend on the order of the cache.
        else if (
          owner.displayName !== undefined &&
          (known.displayName === undefined || compare(owner.grant, known.grant) < 0)
        ) owners.set(consumerUid, owner);
      }
    } catch (error) {
      report(grant, error);
    }
  }
  const identities = new Map<string, string>();
  for (const [uid, owner] of owners) {
    if (owner !== "many" && owner.displayName !== undefined) identities.set(uid, owner.displayName);
  }
  return identities;
}

/** Whether two attributions say the same. */
export function sameAttribution(a: Attribution, b: Attribution): boolean {
  if (a.size !== b.size) return false;
  for (const [uid, identity] of a) if (b.get(uid) !== identity) return false;
  return true;
}

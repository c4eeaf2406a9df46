import type { Cluster } from "../../common/api/wire.ts";

/** Holds the clusters that use, or used, the credential of one Grant. */
export interface SharedGrant {
  readonly uids: readonly string[];
  readonly liveUids: readonly string[];
}

/** Returns the Grants with heartbeats from several clusters, by name. */
export function sharedGrants(clusters: readonly Cluster[]): Map<string, SharedGrant> {
  const users = new Map<string, { uid: string; live: boolean }[]>();
  for (const { uid, bindings } of clusters) {
    for (const { grant, live } of bindings) {
      users.set(grant, [...users.get(grant) ?? [], { uid, live }]);
    }
  }
  const shared = new Map<string, SharedGrant>();
  for (const [grant, each] of users) {
    if (each.length < 2) continue;
    shared.set(grant, {
      uids: each.map(({ uid }) => uid),
      liveUids: each.filter(({ live }) => live).map(({ uid }) => uid),
    });
  }
  return shared;
}

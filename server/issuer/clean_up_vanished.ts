import { GRANTS } from "../../common/api/resources.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { auditLine } from "../../common/log/audit_line.ts";
import type { Log } from "../../common/log/log.ts";
import { cachesOfRights, type IssuerCaches } from "./issued_caches.ts";
import { takeBack } from "./revoke_grant.ts";

/** What cleaning up needs. */
export interface CleanUpDeps {
  readonly kube: KubeClient;
  readonly caches: IssuerCaches;
  readonly log: Log;
}

/**
 * Takes back what is left of a Grant that is gone without having been revoked: its finalizer was
 * removed by hand, or came while a delete was under way, which the API server then does not see.
 * Returns false while something is still there.
 */
export async function cleanUpVanished(
  { kube, caches, log }: CleanUpDeps,
  name: string,
  signal: AbortSignal,
): Promise<boolean> {
  const places = placesOf(caches, name);
  if (places.size === 0) return true;
  if (await kube.find(GRANTS, { name }, signal)) return true; // its event is on the way
  const boundaries = [...places].filter((namespace) => caches.boundaries.get({ name: namespace }));
  const { held } = await takeBack(kube, name, { boundaries }, signal);
  if (held.length > 0) return false;
  const line = auditLine("grant.vanished", "ok", { grant: name });
  log.warn("removed what a vanished Grant had left", line);
  return true;
}

/** Where something of a Grant is; the empty name stands for what is in no namespace. */
function placesOf(caches: IssuerCaches, grant: string): Set<string> {
  const places = new Set<string>();
  for (const cache of cachesOfRights(caches)) {
    for (const { metadata } of cache.find("grant", grant)) places.add(metadata.namespace ?? "");
  }
  return places;
}

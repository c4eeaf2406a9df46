import { type Grant, GRANTS, hasFinalizer } from "../../common/api/resources.ts";
import {
  boundaryName,
  CLEANUP_FINALIZER,
  clusterRoleName,
  FIELD_MANAGERS,
} from "../../common/api/names.ts";
import { done, type Outcome, requeueAfter } from "../../common/control/controller.ts";
import { fewOf } from "../../common/few_of.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { auditLine } from "../../common/log/audit_line.ts";
import { backoffStep } from "../../common/time/backoff.ts";
import { about, leftBehind, MOST_NAMED, settle, type StatusDeps } from "./grant_status.ts";
import { cachesOfRights, type IssuerCaches } from "./issued_caches.ts";
import { takeBack } from "./take_back.ts";

/** What revoking needs. */
export interface RevokeDeps extends StatusDeps {
  readonly caches: IssuerCaches;
  /** Grants with objects that do not go away, and how often the issuer looked. */
  readonly revoking: Map<string, number>;
}

/** How soon to look again for objects that do not go away. */
const LEFT_LOOKS = { baseMs: 500, capMs: 60_000 };
/** A re-bind waits 30 s for the old Grant to go. Four looks take about four seconds. */
const HEARTBEAT_LOOKS = 4;

/** Takes back everything that a deleted Grant gave, then lets the Grant go. */
export async function revokeGrant(
  deps: RevokeDeps,
  grant: Grant,
  signal: AbortSignal,
): Promise<Outcome> {
  const { kube, revoking, recordEvent, log } = deps;
  const { name } = grant.metadata;
  if (!hasFinalizer(grant, CLEANUP_FINALIZER)) return done;
  const { held, heartbeats } = await takeBack(kube, name, {
    boundaries: [boundaryName(grant.spec.identity.subject)],
    // By name, or the API server would search the rights of all Grants four times.
    clusterWide: { fieldSelector: `metadata.name=${clusterRoleName(name)}` },
  }, signal);
  const left = [...held, ...heartbeats];
  // Heartbeats give no rights, so in the end the Grant goes without them: a re-bind waits for that.
  const mayWait = (revoking.get(name) ?? 0) + 1 < HEARTBEAT_LOOKS;
  if (held.length > 0 || heartbeats.length > 0 && mayWait) {
    const lookAgain = lookLater(deps, name);
    await settle(deps, grant, leftBehind(left), signal);
    return lookAgain;
  }
  await removeFinalizer(kube, grant, signal);
  revoking.delete(name);
  const fields = { ...about(grant), ...(left.length > 0 ? { left: fewOf(left, MOST_NAMED) } : {}) };
  log.info("Grant revoked", auditLine("grant.revoked", "ok", fields));
  recordEvent(grant, "Normal", "Revoked", "Its rights and its credentials are gone");
  if (left.length > 0) recordEvent(grant, "Warning", "LeftBehind", leftBehind(left).message);
  return done;
}

/**
 * Takes back the rights of a Grant that vanished without a revocation. Its finalizer was
 * removed, or the issuer added the finalizer while a delete was under way.
 */
export async function cleanUpVanished(
  deps: RevokeDeps,
  name: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const { kube, caches, revoking, log } = deps;
  const objects = cachesOfRights(caches).flatMap((cache) => [...cache.find("grant", name)]);
  /** The cache can be stale: the event of a new Grant of this name follows. */
  const isStale = async () => await kube.find(GRANTS, { name }, signal) !== undefined;
  if (objects.length > 0 && !await isStale()) {
    const namespaces = new Set(objects.map(({ metadata }) => metadata.namespace ?? ""));
    const boundaries = [...namespaces].filter((each) => caches.boundaries.get({ name: each }));
    const { held } = await takeBack(kube, name, { boundaries }, signal);
    if (held.length > 0) return lookLater(deps, name);
    const line = auditLine("grant.vanished", "ok", { grant: name });
    log.warn("removed what a vanished Grant had left", line);
  }
  revoking.delete(name);
  return done;
}

function lookLater({ revoking }: RevokeDeps, name: string): Outcome {
  const looks = revoking.get(name) ?? 0;
  revoking.set(name, looks + 1);
  return requeueAfter(backoffStep(looks, LEFT_LOOKS));
}

async function removeFinalizer(
  kube: KubeClient,
  grant: Grant,
  signal: AbortSignal,
): Promise<void> {
  const { name, resourceVersion = "", finalizers = [] } = grant.metadata;
  const left = finalizers.filter((finalizer) => finalizer !== CLEANUP_FINALIZER);
  const patch = { metadata: { resourceVersion, finalizers: left } };
  await kube.mergePatch(GRANTS, { name }, patch, FIELD_MANAGERS.issuer, signal);
}

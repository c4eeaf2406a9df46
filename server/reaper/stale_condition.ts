import { nextCondition } from "../../common/api/conditions.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../common/api/names.ts";
import {
  type Condition,
  condition,
  type Conditioned,
  type Grant,
  GRANTS,
  type KubeObject,
} from "../../common/api/resources.ts";
import { rfc3339 } from "../../common/api/times.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isConflict, isNotFound } from "../../common/kube/kube_error.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { auditLine } from "../../common/log/audit_line.ts";
import type { Log } from "../../common/log/log.ts";
import type { Config } from "../config.ts";
import type { Examined, Stale, Staleness } from "./staleness.ts";

/** Publishes a Kubernetes Event about a Grant. */
export type GrantEvents = (
  grant: Grant,
  type: "Normal" | "Warning",
  reason: "Stale",
  message: string,
) => void;

/** What `recordStaleness` works with. */
export interface RecordDeps {
  /** Guarded: it refuses writes once another replica may lead. */
  readonly kube: KubeClient;
  readonly config: Pick<Config, "reaperRevoke">;
  readonly log: Log;
  readonly events?: GrantEvents;
}

/** Writes condition and annotations if they differ from what the sweep found, and reports it. */
export async function recordStaleness(
  deps: RecordDeps,
  { grant, staleness, sign }: Examined,
  { isHolding, nowMs }: { readonly isHolding: boolean; readonly nowMs: number },
  signal: AbortSignal,
): Promise<void> {
  const { reaperRevoke: revokes } = deps.config;
  const isHeld = isHolding && !sign?.isApproved;
  const { stale, staleSince } = editFor(grant, staleness, { revokes, isHeld, nowMs });
  const annotations = {
    ...(staleSince === undefined ? {} : { [ANNOTATIONS.staleSince]: staleSince }),
    // An approval ends with the silence that it was given for.
    ...(sign?.isLive && sign.isApproved ? { [ANNOTATIONS.reap]: null } : {}),
  };
  try {
    const written = stale ? await writeCondition(deps, grant, stale, signal) : grant;
    if (stale) tell(deps, grant, stale, staleSince);
    if (Object.keys(annotations).length > 0) await annotate(deps, written, annotations, signal);
  } catch (error) {
    // The Grant changed or went meanwhile. The next sweep judges it again.
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}

/** What has to be written to a Grant. Absent parts are as they should be. */
export interface GrantEdit {
  readonly stale?: Condition;
  /** The new value of the annotation; null removes it. */
  readonly staleSince?: string | null;
}

/** What an edit depends on besides the Grant. */
export interface EditOptions {
  readonly revokes: boolean;
  /** The reaper holds, and the Grant has no approval. */
  readonly isHeld: boolean;
  readonly nowMs: number;
}

/** It has no time and no count, so that the message stays the same during a hold. */
const HELD = "; revocation is on hold because many consumers fell silent together";

/**
 * Returns what to write to a Grant. The condition holds only facts that stay the same from sweep to
 * sweep, so that a Grant at rest is not written to. A Grant that never was stale gets no condition.
 */
export function editFor(
  grant: Grant,
  staleness: Staleness,
  { revokes, isHeld, nowMs }: EditOptions,
): GrantEdit {
  if (staleness.kind === "unjudged") return {};
  const present = condition(grant, "Stale");
  const presentSince = grant.metadata.annotations?.[ANNOTATIONS.staleSince] ?? null;
  const isStale = staleness.kind === "stale";
  const saysSo = isStale && present?.reason === staleness.reason && presentSince !== null &&
    present.observedGeneration === (grant.metadata.generation ?? 0);
  // A consumer whose clock is wrong would cause a write at every heartbeat, without any news.
  if (saysSo && staleness.isMoving && !showsHeld(grant)) return {};

  const stale = present || isStale
    ? nextCondition(grant, {
      type: "Stale",
      status: isStale ? "True" : "False",
      reason: isStale ? staleness.reason : "AsExpected",
      message: isStale ? staleMessage(staleness, revokes, isHeld) : "The consumer is not overdue",
    }, new Date(nowMs))
    : undefined;
  const since = isStale ? rfc3339(staleness.sinceMs) : null;
  return {
    ...(stale ? { stale } : {}),
    ...(since === presentSince ? {} : { staleSince: since }),
  };
}

function staleMessage(
  { reason, sinceMs, mayReap, notBeforeMs }: Stale,
  revokes: boolean,
  isHeld: boolean,
): string {
  const silence = reason === "LeaseExpired"
    ? `No heartbeat since ${rfc3339(sinceMs)}`
    : `No heartbeat since the Grant became Ready at ${rfc3339(sinceMs)}`;
  if (revokes && mayReap && isHeld) return `${silence}${HELD}`;
  return revokes && !mayReap && notBeforeMs !== undefined
    ? `${silence}; revocation not before ${rfc3339(notBeforeMs)}`
    : silence;
}

/** Returns whether the condition of the Grant says that it is stale. */
export const showsStale = (grant: Grant): boolean => condition(grant, "Stale")?.status === "True";

/** Returns whether the condition of the Grant says that the reaper holds it. */
export const showsHeld = (grant: Grant): boolean =>
  condition(grant, "Stale")?.message.endsWith(HELD) ?? false;

async function writeCondition(
  { kube }: RecordDeps,
  { apiVersion, kind, metadata: { name, resourceVersion = "" } }: Grant,
  stale: Condition,
  signal: AbortSignal,
): Promise<KubeObject> {
  // The resourceVersion refuses a Grant that was recreated under the same name; an apply to the
  // status ignores the UID. Other conditions are not sent, so the reaper does not own them.
  const metadata = { name, resourceVersion };
  return await kube.applyStatus<KubeObject & Conditioned>(
    GRANTS,
    { apiVersion, kind, metadata, status: { conditions: [stale] } },
    FIELD_MANAGERS.reaper,
    signal,
  );
}

async function annotate(
  { kube }: RecordDeps,
  written: KubeObject,
  annotations: Readonly<Record<string, string | null>>,
  signal: AbortSignal,
): Promise<void> {
  const { resourceVersion = "" } = written.metadata;
  const patch = { metadata: { resourceVersion, annotations } };
  await kube.mergePatch(GRANTS, keyOf(written), patch, FIELD_MANAGERS.reaper, signal);
}

/** Logs that a Grant became stale or fresh, and publishes an Event for a stale one. */
function tell(
  { log, events }: RecordDeps,
  grant: Grant,
  { status, reason, message }: Condition,
  since: string | null | undefined,
): void {
  const isStale = status === "True";
  if (isStale === showsStale(grant)) return;
  const about = {
    grant: grant.metadata.name,
    subject: grant.spec.identity.subject,
    export: grant.spec.exportName,
    ...(since ? { since } : {}),
  };
  if (!isStale) return log.info("grant is fresh again", auditLine("grant.fresh", "ok", about));
  log.info("grant is stale", auditLine("grant.stale", reason, about));
  events?.(grant, "Warning", "Stale", message);
}

import {
  type Condition,
  type Conditioned,
  type Grant,
  GRANTS,
  type KubeObject,
} from "../../common/api/resources.ts";
import type { Config } from "../config.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isConflict, isNotFound } from "../../common/kube/kube_error.ts";
import { keyOf } from "../../common/kube/paths.ts";
import { ANNOTATIONS, FIELD_MANAGERS } from "../../common/api/names.ts";
import { auditLine } from "../../common/log/audit_line.ts";
import type { Log } from "../../common/log/log.ts";
import type { Examined } from "./examine.ts";
import { editFor, isMarkedStale } from "./stale_condition.ts";

/** Told what to publish as a Kubernetes Event about a Grant. */
export type GrantEvents = (
  grant: Grant,
  type: "Normal" | "Warning",
  reason: "Stale",
  message: string,
) => void;

/** What a finding is written and told with. */
export interface RecordDeps {
  /** Guarded: it refuses writes once another replica may lead. */
  readonly kube: KubeClient;
  readonly config: Pick<Config, "reaperRevoke">;
  readonly log: Log;
  readonly events?: GrantEvents;
}

/** Writes what an examination changes about a Grant, and tells about it. */
export async function recordFinding(
  deps: RecordDeps,
  { grant, finding, sign }: Examined,
  { isHolding, nowMs }: { readonly isHolding: boolean; readonly nowMs: number },
  signal: AbortSignal,
): Promise<void> {
  const { reaperRevoke: revokes } = deps.config;
  const isHeld = isHolding && !sign?.isApproved;
  const { stale, staleSince } = editFor(grant, finding, { revokes, isHeld, nowMs });
  const annotations = {
    ...(staleSince === undefined ? {} : { [ANNOTATIONS.staleSince]: staleSince }),
    // An approval ends with the silence that it was given for.
    ...(sign?.isLive && sign.isApproved ? { [ANNOTATIONS.reap]: null } : {}),
  };
  try {
    const judged = stale ? await writeCondition(deps, grant, stale, signal) : grant;
    if (stale) tell(deps, grant, stale, staleSince);
    if (Object.keys(annotations).length > 0) await annotate(deps, judged, annotations, signal);
  } catch (error) {
    // It changed or went since the cache heard of it; the next sweep sees it as it is then.
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
}

async function writeCondition(
  { kube }: RecordDeps,
  { apiVersion, kind, metadata: { name, resourceVersion = "" } }: Grant,
  stale: Condition,
  signal: AbortSignal,
): Promise<KubeObject> {
  // Only this condition: an apply gives up whatever it leaves out. The version keeps the verdict
  // from a Grant that was made anew under the same name; the UID would not be looked at here.
  return await kube.applyStatus<KubeObject & Conditioned>(
    GRANTS,
    {
      apiVersion,
      kind,
      metadata: { name, resourceVersion },
      status: { conditions: [stale] },
    },
    FIELD_MANAGERS.reaper,
    signal,
  );
}

async function annotate(
  { kube }: RecordDeps,
  judged: KubeObject,
  annotations: Readonly<Record<string, string | null>>,
  signal: AbortSignal,
): Promise<void> {
  const { resourceVersion = "" } = judged.metadata;
  const patch = { metadata: { resourceVersion, annotations } };
  await kube.mergePatch(GRANTS, keyOf(judged), patch, FIELD_MANAGERS.reaper, signal);
}

function tell(
  { log, events }: RecordDeps,
  grant: Grant,
  { status, reason, message }: Condition,
  since: string | null | undefined,
): void {
  const isStale = status === "True";
  if (isStale === isMarkedStale(grant)) return;
  const about = {
    grant: grant.metadata.name,
    subject: grant.spec.identity.subject,
    export: grant.spec.exportName,
    ...(since ? { since } : {}),
  };
  if (isStale) log.info("grant is stale", auditLine("grant.stale", reason, about));
  else log.info("grant is fresh again", auditLine("grant.fresh", "ok", about));
  if (isStale) events?.(grant, "Warning", "Stale", message);
}

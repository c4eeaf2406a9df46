import {
  type Condition,
  type Conditioned,
  type Grant,
  GRANTS,
  type KubeObject,
} from "../../common/api/resources.ts";
import { FIELD_MANAGERS } from "../../common/api/names.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { auditLine } from "../../common/log/audit_line.ts";
import type { RecordEvent } from "../../common/kube/event_recorder.ts";
import type { Log } from "../../common/log/log.ts";
import { showsUnauthorized } from "./authorized_condition.ts";
import { about } from "./grant_status.ts";

/** What writing the condition needs. */
export interface WriteAuthorizedDeps {
  /** Refuses to write while this process does not lead. */
  readonly kube: KubeClient;
  readonly recordEvent: RecordEvent;
  readonly log: Log;
}

/** Writes the condition `Authorized` to this version of the Grant, and tells what changed. */
export async function writeAuthorized(
  { kube, recordEvent, log }: WriteAuthorizedDeps,
  grant: Grant,
  next: Condition,
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion, kind, metadata: { name, resourceVersion = "" } } = grant;
  await kube.applyStatus<KubeObject & Conditioned>(
    GRANTS,
    { apiVersion, kind, metadata: { name, resourceVersion }, status: { conditions: [next] } },
    FIELD_MANAGERS.authorizer,
    signal,
  );
  const { status, reason, message } = next;
  if (status === "True") {
    return log.info("Grant is authorized again", auditLine("grant.authorized", "ok", about(grant)));
  }
  if (showsUnauthorized(grant) && reason === "PermissionLost") return;
  const line = auditLine("grant.unauthorized", reason, { message, ...about(grant) });
  log.warn("Grant is not authorized", line);
  recordEvent(grant, "Warning", "PermissionLost", message);
}

/** Removes the condition, because nobody judges the Grant any more. */
export async function clearAuthorized(
  { kube }: Pick<WriteAuthorizedDeps, "kube">,
  { apiVersion, kind, metadata: { name } }: Grant,
  signal: AbortSignal,
): Promise<void> {
  await kube.applyStatus<KubeObject & Conditioned>(
    GRANTS,
    { apiVersion, kind, metadata: { name }, status: { conditions: [] } },
    FIELD_MANAGERS.authorizer,
    signal,
  );
}

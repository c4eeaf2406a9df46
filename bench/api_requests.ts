import { type AuditEvent, parseAuditLog } from "../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { sleep } from "../common/time/wait.ts";

/** The audit log has a request at most this long after its answer. */
const WRITTEN_AFTER_MS = 500;

/** Returns a user's API requests during `run`, without watches, from an audit log of any size. */
export async function apiRequestsDuring(
  plane: ControlPlane,
  user: string,
  run: () => Promise<unknown>,
): Promise<AuditEvent[]> {
  await sleep(WRITTEN_AFTER_MS);
  const file = plane.auditLog ?? "";
  const { size } = await Deno.stat(file);
  await run();
  await sleep(WRITTEN_AFTER_MS);
  return parseAuditLog(await textFrom(file, size)).filter(({ verb, user: { username } }) =>
    username === user && verb !== "watch"
  );
}

async function textFrom(file: string, offset: number): Promise<string> {
  using log = await Deno.open(file);
  await log.seek(offset, Deno.SeekMode.Start);
  return await new Response(log.readable).text();
}

/** Returns whether a request is a write. */
export const isWrite = ({ verb, objectRef }: AuditEvent): boolean =>
  !["get", "list", "watch"].includes(verb) && !objectRef?.resource?.endsWith("reviews");

import { type AuditEvent, parseAuditLog } from "../scripts/controlplane/audit_events.ts";
import type { ControlPlane } from "../scripts/controlplane/control_plane.ts";
import { sleep } from "../common/time/wait.ts";

/** An event is written when its request is answered, or hardly later. */
const WRITTEN_AFTER_MS = 500;

/** What a user asked of the API server while something ran, watches aside; of a log of any size. */
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

/** Whether a request changes something. */
export const isWrite = ({ verb, objectRef }: AuditEvent): boolean =>
  !["get", "list", "watch"].includes(verb) && !objectRef?.resource?.endsWith("reviews");

/** The fields of an audit event that tests read. */
export interface AuditEvent {
  auditID: string;
  stage: "ResponseStarted" | "ResponseComplete" | "Panic";
  verb: string;
  requestURI: string;
  user: { username: string; groups?: string[] };
  /** The user as whom the request was sent, if that is another. */
  impersonatedUser?: { username: string; groups?: string[] };
  userAgent?: string;
  objectRef?: {
    apiGroup?: string;
    resource?: string;
    subresource?: string;
    namespace?: string;
    name?: string;
  };
  responseStatus?: { code: number; reason?: string };
  requestReceivedTimestamp: string;
  stageTimestamp: string;
}

/** Parses an audit log; skips a last line that is not complete yet. */
export const parseAuditLog = (text: string): AuditEvent[] => {
  const complete = text.slice(0, text.lastIndexOf("\n") + 1);
  return complete.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
};

/**
 * Reads the audit log of a control plane. A request appears shortly after its answer: await a
 * condition, or check for an absence only after a later request has appeared.
 */
export const auditEvents = async (
  plane: { readonly auditLog?: string | undefined },
  filter: (event: AuditEvent) => boolean = () => true,
): Promise<AuditEvent[]> => {
  if (!plane.auditLog) throw new Error("Cannot read the audit log: it was not asked for");
  const text = await Deno.readTextFile(plane.auditLog).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return ""; // made by the first request
    throw error;
  });
  return parseAuditLog(text).filter(filter);
};

import type { Handler } from "hono";
import { BIND_REQUEST } from "../../../common/api/wire.ts";
import { type BindDeps, bindExport } from "../../bind/bind.ts";
import { auditLine, outcomeOf } from "../../../common/log/audit_line.ts";
import type { Env } from "../env.ts";
import { parseBody } from "../http/parse_body.ts";
import { readJson } from "../http/read_json.ts";
import { requestSignal } from "../http/request_signal.ts";

const BODY = { maxBytes: 16 * 1024, maxMs: 30_000 };

/** Handles `POST /api/bind`. */
export const bind =
  (deps: BindDeps & { readonly stopping: AbortSignal }): Handler<Env> => async (c) => {
    const request = parseBody(BIND_REQUEST, await readJson(c, BODY));
    using work = requestSignal(c, deps.stopping);
    const identity = c.get("identity");
    const about = { subject: identity.subject, export: request.export };
    try {
      const result = await bindExport(deps, identity, request.export, work.signal);
      c.get("log").info("bound", auditLine("bind", "ok", { grant: result.grant, ...about }));
      return c.json(result);
    } catch (error) {
      c.get("log").info("not bound", auditLine("bind", outcomeOf(error), about));
      throw error;
    }
  };

import type { Handler } from "hono";
import { APPLY_REQUEST } from "../../../common/api/wire.ts";
import { type ApplyDeps, applyToConsumer } from "../../bind/apply.ts";
import { XbindError } from "../../../common/errors.ts";
import { auditLine, outcomeOf } from "../../../common/log/audit_line.ts";
import type { Env } from "../env.ts";
import { parseBody } from "../http/parse_body.ts";
import { readJson } from "../http/read_json.ts";
import { requestSignal } from "../http/request_signal.ts";

const BODY = { maxBytes: 1024 * 1024, maxMs: 75_000 };

/** Handles `POST /api/apply`, which exists only with `--enable-apply`. */
export const apply =
  (deps: ApplyDeps & { readonly stopping: AbortSignal }): Handler<Env> => async (c) => {
    const request = parseBody(APPLY_REQUEST, await readJson(c, BODY));
    using work = requestSignal(c, deps.stopping);
    const identity = c.get("identity");
    const about = { subject: identity.subject, export: request.export ?? "" };
    try {
      const result = await applyToConsumer(deps, identity, request, work.signal);
      c.get("log").info("applied", auditLine("apply", "ok", about));
      return c.json(result);
    } catch (error) {
      // The refused field shows whether this was an attack or a mistake. The message quotes no
      // values.
      if (error instanceof XbindError && error.code === "KUBECONFIG_REJECTED") {
        const line = auditLine("kubeconfig", "rejected", { ...about, reason: error.message });
        c.get("log").info("kubeconfig rejected", line);
      }
      c.get("log").info("not applied", auditLine("apply", outcomeOf(error), about));
      throw error;
    }
  };

import type { Handler } from "hono";
import type { ApplyRequest } from "../../api/wire.ts";
import { type ApplyDeps, applyToConsumer } from "../../binding/apply.ts";
import { XbindError } from "../../errors.ts";
import type { Env } from "../env.ts";
import { readJson } from "../read_json.ts";
import { requestSignal } from "../request_signal.ts";
import { APPLY_REQUEST, checkBody } from "../schemas.ts";

const BODY = { maxBytes: 1024 * 1024, maxMs: 75_000 };

/** `POST /api/apply`, registered with `--enable-apply` only. */
export const apply =
  (deps: ApplyDeps & { readonly stopping: AbortSignal }): Handler<Env> => async (c) => {
    const request = checkBody<ApplyRequest>(APPLY_REQUEST, await readJson(c, BODY));
    using work = requestSignal(c, deps.stopping);
    const identity = c.get("identity");
    const about = { subject: identity.subject, export: request.export ?? "" };
    try {
      const result = await applyToConsumer(deps, identity, request, work.signal);
      c.get("log").info("applied", { code: "apply", outcome: "ok", ...about });
      return c.json(result);
    } catch (error) {
      const outcome = error instanceof XbindError ? error.code : "UNEXPECTED";
      c.get("log").info("not applied", { code: "apply", outcome, ...about });
      throw error;
    }
  };

import type { Handler } from "hono";
import type { Me } from "../../../common/api/wire.ts";
import type { Authorizer } from "../../authorization/authorizer.ts";
import type { Env } from "../env.ts";

/** Handles `GET /api/me`. */
export const me =
  ({ authorizer }: { readonly authorizer?: Authorizer | undefined }): Handler<Env> => (c) => {
    const identity = c.get("identity");
    if (!authorizer) return c.json<Me>(identity);
    const { user, groups } = authorizer.userOf(identity);
    return c.json<Me>({ ...identity, kubernetes: { user, groups: [...groups] } });
  };

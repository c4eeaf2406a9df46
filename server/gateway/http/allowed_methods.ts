import type { Hono, MiddlewareHandler } from "hono";
import type { ErrorBody } from "../../../common/api/wire.ts";
import type { Env } from "../env.ts";

/** Routes where GET uses something up, so HEAD must not run it. */
const WITHOUT_HEAD = ["/api/bundle/:token", "/api/auth/oidc/callback"];

/** Answers 405 with `Allow` if the path exists but not with this method. */
export const allowedMethods = (app: Hono<Env>): MiddlewareHandler<Env> => {
  const methods = new Map<string, Set<string>>();
  return async function allowedMethods(c, next) {
    if (methods.size === 0) collect(app, methods);
    for (const [path, allowed] of methods) {
      if (!matches(path, c.req.path)) continue;
      if (allowed.has(c.req.method)) break;
      c.header("Allow", [...allowed].join(", "));
      return c.json<ErrorBody>({ error: `Cannot ${c.req.method} this path` }, 405);
    }
    await next();
  };
};

function collect(app: Hono<Env>, methods: Map<string, Set<string>>): void {
  for (const { path, method } of app.routes) {
    if (method === "ALL") continue;
    const allowed = methods.get(path) ?? new Set();
    allowed.add(method);
    if (method === "GET" && !WITHOUT_HEAD.includes(path)) allowed.add("HEAD");
    methods.set(path, allowed);
  }
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return wanted.length === given.length &&
    wanted.every((part, index) =>
      part.startsWith(":") ? given[index] !== "" : part === given[index]
    );
}

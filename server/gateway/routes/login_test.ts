import { getRequestListener, type HttpBindings } from "@hono/node-server";
import assert from "node:assert/strict";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import {
  createAuthority,
  issueServerCertificate,
} from "../../../scripts/controlplane/certificates.ts";
import { CALLBACK, startOidc } from "../../../tests/support/worlds/test_oidc.ts";
import { createLogger } from "../../../common/log/log.ts";
import { type AppDeps, createApp } from "../app.ts";
import { startMockIdp } from "../idp/mock_idp.ts";
import { createSessionCodec } from "../auth/session.ts";

const authority = await createAuthority("gateway test");
const certificate = await issueServerCertificate(authority, ["127.0.0.1"]);
const log = createLogger({
  encoder: "json",
  level: "info",
  stacktraceLevel: "panic",
  timeEncoding: "rfc3339",
  write: () => {},
});

/** Starts the whole app over one scheme; the tests send only logins. */
async function serve(scheme: "http" | "https") {
  await using made = new AsyncDisposableStack();
  const mock = made.use(await startMockIdp(""));
  const codec = await createSessionCodec({ sessionTtlMs: 60_000, now: () => new Date() });
  const { issuerUrl, clientId, usernameClaim } = mock;
  const oidc = made.use(await startOidc({ issuerUrl, clientId, usernameClaim }, { codec }));
  const unasked = {} as unknown;
  const deps: AppDeps = {
    inventory: unasked as AppDeps["inventory"],
    outage: { begin: () => {} },
    bind: unasked as AppDeps["bind"],
    pickup: unasked as AppDeps["pickup"],
    apply: unasked as AppDeps["apply"],
    config: {
      providerName: "test",
      kubernetesAuth: false,
      enableApply: false,
      konnectorImage: "konnector",
      rateLimit: 0,
    },
    auth: { codec, externalUrl: "https://gw.example", redirectUrl: CALLBACK },
    login: { oidc, codec, sessionTtlMs: 60_000, redirectUrl: CALLBACK },
    stopping: new AbortController().signal,
    log,
    observe: () => {},
  };
  const app = createApp(deps);
  const listener = getRequestListener(
    (request, env) => app.fetch(request, env as HttpBindings),
    { overrideGlobalObjects: false },
  );
  const server = scheme === "https"
    ? https.createServer(certificate, listener)
    : http.createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  made.defer(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  made.defer(() => server.closeAllConnections());
  const client = made.adopt(
    Deno.createHttpClient({ caCerts: [authority.cert] }),
    (each) => each.close(),
  );
  const origin = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const kept = made.move();
  return {
    /** Returns the status, the redirect and the cookies of an answer. */
    async get(path: string, cookie = "") {
      const headers = { Cookie: cookie };
      const answer = await fetch(origin + path, { client, redirect: "manual", headers });
      await answer.body?.cancel();
      const location = answer.headers.get("Location") ?? "";
      return { status: answer.status, location, cookies: answer.headers.getSetCookie() };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

Deno.test("every cookie of a login is Secure over TLS, and no cookie is Secure without TLS", async (t) => {
  for (const scheme of ["https", "http"] as const) {
    await t.step(scheme, async () => {
      await using gateway = await serve(scheme);
      const started = await gateway.get("/api/auth/oidc/login");
      const approved = await fetch(started.location, { redirect: "manual" });
      await approved.body?.cancel();
      const { pathname, search } = new URL(approved.headers.get("Location") ?? "");
      assert.equal(pathname, "/api/auth/oidc/callback");
      const [state = ""] = (started.cookies[0] ?? "").split(";");
      const finished = await gateway.get(pathname + search, state);
      const ended = await gateway.get("/api/auth/logout");
      assert.deepEqual([started, finished, ended].map(({ status }) => status), [302, 302, 302]);
      const cookies = [...started.cookies, ...finished.cookies, ...ended.cookies];
      const seen = cookies.map((cookie) => [
        cookie.slice(0, cookie.indexOf("=")),
        cookie.split("; ").includes("Secure"),
      ]);
      assert.deepEqual(seen, [
        ["xbind_oidc_state", scheme === "https"],
        ["xbind_oidc_state", scheme === "https"],
        ["xbind_session", scheme === "https"],
        ["xbind_session", scheme === "https"],
      ]);
    });
  }
});

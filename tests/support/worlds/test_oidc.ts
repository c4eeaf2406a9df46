import assert from "node:assert/strict";
import { XbindError } from "../../../common/errors.ts";
import { createLogger } from "../../../common/log/log.ts";
import { createSessionCodec } from "../../../server/gateway/auth/session.ts";
import { createOidc, type Oidc, type OidcDeps } from "../../../server/gateway/idp/login.ts";
import type { OidcSettings } from "../../../server/gateway/idp/settings.ts";
import { HOSTILE_CLIENT, type HostileIdp, type Plan } from "../peers/hostile_idp.ts";

/** The callback URL that the identity provider has registered. */
export const CALLBACK = "https://gw.example/api/auth/oidc/callback";

/** Starts the gateway's login code in this process, by default as a public client. */
export const startOidc = async (
  settings: Partial<OidcSettings> & { readonly issuerUrl: string },
  deps: Partial<OidcDeps> = {},
) => {
  const lines: string[] = [];
  const clock = { skewMs: 0 };
  const now = () => new Date(Date.now() + clock.skewMs);
  const codec = await createSessionCodec({ sessionTtlMs: 60_000, now });
  const log = createLogger({
    encoder: "json",
    level: "debug",
    stacktraceLevel: "error",
    timeEncoding: "iso8601",
    write: (line) => void lines.push(line),
  });
  const oidc = createOidc({
    settings: {
      clientId: HOSTILE_CLIENT.id,
      usernameClaim: "sub",
      groupsClaim: "groups",
      scopes: ["openid", "email"],
      ...settings,
    },
    redirectUrl: CALLBACK,
    externalUrl: "https://gw.example",
    codec,
    log,
    now,
    retry: { baseMs: 10, capMs: 20 },
    ...deps,
  });
  const stop = new AbortController();
  const running = oidc.run(stop.signal);
  return Object.assign(oidc, {
    lines,
    clock,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  });
};

/** Logs in with a code that the identity provider answers by this plan. */
export const logIn = async (idp: HostileIdp, oidc: Oidc, plan?: Plan, redirect?: string) => {
  const { authorizationUrl, stateCookie } = await oidc.startLogin(redirect);
  return await oidc.finishLogin(new URL(idp.approve(authorizationUrl, plan)), stateCookie);
};

/** Asserts that the promise fails with this code and message. */
export const fails = (promise: Promise<unknown>, code: string, message = /./) =>
  assert.rejects(promise, (error) => {
    assert.ok(error instanceof XbindError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    assertHides(`${error.message} ${Deno.inspect(error, { depth: 10 })}`);
    return true;
  });

/** Asserts that a text has neither the client's secret nor a code. */
export const assertHides = (text: string): void => {
  const { secret } = HOSTILE_CLIENT;
  for (const hidden of [secret, encodeURIComponent(secret)]) {
    assert.equal(text.includes(hidden), false);
  }
  assert.doesNotMatch(text, /code-[0-9a-f]{8}-/);
};

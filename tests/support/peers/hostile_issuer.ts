import assert from "node:assert/strict";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWTHeaderParameters,
  SignJWT,
} from "jose";
import {
  createAuthority,
  issueServerCertificate,
} from "../../../scripts/controlplane/certificates.ts";
import { XbindError } from "../../../common/errors.ts";
import { createLogger } from "../../../common/log/log.ts";
import { createOidc, type Oidc, type OidcDeps } from "../../../server/gateway/idp/login.ts";
import type { OidcSettings } from "../../../server/gateway/idp/settings.ts";
import { createSessionCodec } from "../../../server/gateway/auth/session.ts";

/** What the gateway is registered as. */
export const CLIENT = "client-1";
/** The code that every approval gives. */
export const CODE = "code-that-must-not-leak";
/** A client secret that needs encoding wherever it goes. */
export const SECRET = "s3cret/+ that must not leak";
/** Where approvals come back to. */
export const CALLBACK = "https://gw.example/api/auth/oidc/callback";

/** The key that ID tokens are signed with. */
export const rsa = await generateKeyPair("RS256");
/** A key that is not announced, unless a test rotates to it. */
export const otherRsa = await generateKeyPair("RS256");
/** `rsa` as it is announced. */
export const publicJwk = { ...await exportJWK(rsa.publicKey), kid: "k1", use: "sig" };
/** `otherRsa` as it would be announced. */
export const otherJwk = { ...await exportJWK(otherRsa.publicKey), kid: "k2", use: "sig" };

/** What the issuer under test does wrong, or differently. */
export interface Behaviour {
  metadata?: Record<string, unknown>;
  claims?: Record<string, unknown>;
  header?: JWTHeaderParameters;
  key?: CryptoKey;
  idToken?: string;
  keys?: unknown;
  token?: { status: number; body: unknown };
  down?: boolean;
}

/** An issuer that misbehaves as told, over real HTTP, and remembers what it was asked. */
export const startIssuer = async (scheme: "http" | "https" = "http") => {
  const asked: { path: string; authorization: string | undefined; form: URLSearchParams }[] = [];
  const state = { behaviour: {} as Behaviour, nonce: "", url: "" };
  const answer = async (request: http.IncomingMessage, form: URLSearchParams) => {
    const { behaviour, url, nonce } = state;
    asked.push({ path: request.url ?? "", authorization: request.headers.authorization, form });
    if (behaviour.down) return { status: 503, body: "<h1>maintenance</h1>" };
    if (request.url?.endsWith("/.well-known/openid-configuration")) {
      const metadata = {
        issuer: url,
        authorization_endpoint: `${url}/authorize?tenant=a`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/jwks`,
        ...behaviour.metadata,
      };
      return { status: 200, body: metadata };
    }
    if (request.url === "/jwks") {
      return { status: 200, body: behaviour.keys ?? { keys: [publicJwk] } };
    }
    if (behaviour.token) return behaviour.token;
    const seconds = Math.floor(Date.now() / 1000);
    const claims = { iss: url, aud: CLIENT, sub: "ada", iat: seconds, exp: seconds + 60, nonce };
    const idToken = behaviour.idToken ??
      await new SignJWT({ ...claims, ...behaviour.claims })
        .setProtectedHeader(behaviour.header ?? { alg: "RS256", kid: "k1" })
        .sign(behaviour.key ?? rsa.privateKey);
    return { status: 200, body: { access_token: "a", token_type: "Bearer", id_token: idToken } };
  };
  const handle = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    let text = "";
    for await (const part of request) text += part;
    const { status, body } = await answer(request, new URLSearchParams(text));
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
  const authority = await createAuthority("issuer test");
  const server = scheme === "http"
    ? http.createServer(handle)
    : https.createServer(await issueServerCertificate(authority, ["127.0.0.1"]), handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  state.url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, {
    asked,
    caPem: authority.cert,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  });
};

/** See `startIssuer`. */
export type Issuer = Awaited<ReturnType<typeof startIssuer>>;

/** Our side of the login, against that issuer. */
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
      clientId: CLIENT,
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

/** What a browser does at the issuer: it comes back with a code. */
export const approve = (issuer: Pick<Issuer, "nonce">, authorizationUrl: string): URL => {
  const asked = new URL(authorizationUrl).searchParams;
  issuer.nonce = asked.get("nonce") ?? "";
  const callback = new URL(CALLBACK);
  callback.searchParams.set("code", CODE);
  callback.searchParams.set("state", asked.get("state") ?? "");
  return callback;
};

/** A whole login. */
export const logIn = async (issuer: Issuer, oidc: Oidc, redirect?: string) => {
  const { authorizationUrl, stateCookie } = await oidc.startLogin(redirect);
  return await oidc.finishLogin(approve(issuer, authorizationUrl), stateCookie);
};

/** Fails unless the promise does, with that code and message. */
export const fails = (promise: Promise<unknown>, code: string, message = /./) =>
  assert.rejects(promise, (error) => {
    assert.ok(error instanceof XbindError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    const everything = `${error.message} ${Deno.inspect(error, { depth: 10 })}`;
    for (const secret of [CODE, SECRET]) assert.equal(everything.includes(secret), false);
    return true;
  });

/** Settings that name the issuer by its root. */
export const asRoot = (issuer: Issuer) => ({ issuerUrl: issuer.url });

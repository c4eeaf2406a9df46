import { createHash, randomBytes } from "node:crypto";
import http from "node:http";
import type { AddressInfo } from "node:net";
import {
  calculateJwkThumbprint,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  SignJWT,
} from "jose";
import { parseListenAddress } from "../../../common/flags/flag_values.ts";

/** An identity provider for development that approves every login as one user. */
export interface MockIdp extends AsyncDisposable {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly usernameClaim: string;
}

interface Code {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly nonce: string | undefined;
  readonly expiresAtMs: number;
}

interface Answer {
  readonly status: number;
  readonly json?: unknown;
  readonly location?: string;
}

interface Keys {
  readonly publicKey: JWK;
  readonly privateKey: CryptoKey;
  readonly kid: string;
}

interface Idp {
  readonly url: string;
  readonly codes: Map<string, Code>;
  readonly keys: Keys;
}

const CLIENT_ID = "xbind-mock";
const USER = {
  sub: "1234567890",
  email: "jane.doe@example.com",
  email_verified: true,
  name: "Jane Doe",
  preferred_username: "jane.doe",
};
const CODE_TTL_MS = 60_000;
const TOKEN_TTL_SECONDS = 300;
const MAX_CODES = 1_000;
const MAX_BODY_BYTES = 16 * 1024;
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 5_000 };

/** Starts the mock identity provider on a loopback `host:port`; an empty text means a free port. */
export const startMockIdp = async (listen: string): Promise<MockIdp> => {
  const { hostname, port } = parseListenAddress(listen || "127.0.0.1:0") ?? {};
  if (!hostname) {
    throw new Error(`Cannot start the mock identity provider: "${listen}" is not an address`);
  }
  const keys = await createKeys();
  const server = http.createServer(TIMEOUTS);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) =>
      reject(
        new Error(`Cannot start the mock identity provider on "${listen}" (--oidc-mock-listen)`, {
          cause,
        }),
      ));
    server.listen({ host: hostname, port }, resolve);
  });
  const actualPort = (server.address() as AddressInfo).port;
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  const idp = { url: `http://${host}:${actualPort}/oidc`, codes: new Map(), keys };
  server.on("request", (request, response) => {
    // The client of a broken request is gone.
    answer(idp, request).then((result) => send(response, result), () => response.destroy());
  });
  return {
    issuerUrl: idp.url,
    clientId: CLIENT_ID,
    usernameClaim: "email",
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
};

const createKeys = async (): Promise<Keys> => {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(jwk);
  return { publicKey: { ...jwk, kid, alg: "ES256", use: "sig" }, privateKey, kid };
};

const idToken = ({ url, keys }: Idp, nonce: string | undefined): Promise<string> =>
  new SignJWT({ ...USER, ...(nonce === undefined ? {} : { nonce }) })
    .setProtectedHeader({ alg: "ES256", kid: keys.kid })
    .setIssuer(url)
    .setAudience(CLIENT_ID)
    .setIssuedAt()
    .setExpirationTime(`${TOKEN_TTL_SECONDS}s`)
    .sign(keys.privateKey);

const answer = async (idp: Idp, request: http.IncomingMessage): Promise<Answer> => {
  const url = URL.parse(request.url ?? "", idp.url);
  switch (`${request.method} ${url?.pathname}`) {
    case "GET /oidc/.well-known/openid-configuration":
      return { status: 200, json: metadata(idp.url) };
    case "GET /oidc/jwks":
      return { status: 200, json: { keys: [idp.keys.publicKey] } };
    case "GET /oidc/authorize":
      return authorize(idp, url?.searchParams ?? new URLSearchParams());
    case "POST /oidc/token":
      return await exchange(idp, new URLSearchParams(await readForm(request)));
    default:
      return { status: 404, json: { error: "not_found" } };
  }
};

const metadata = (issuerUrl: string) => ({
  issuer: issuerUrl,
  authorization_endpoint: `${issuerUrl}/authorize`,
  token_endpoint: `${issuerUrl}/token`,
  jwks_uri: `${issuerUrl}/jwks`,
  response_types_supported: ["code"],
  grant_types_supported: ["authorization_code"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["ES256"],
  code_challenge_methods_supported: ["S256"],
  token_endpoint_auth_methods_supported: ["none"],
  scopes_supported: ["openid", "profile", "email"],
});

const authorize = ({ codes }: Idp, query: URLSearchParams): Answer => {
  const redirect = URL.parse(query.get("redirect_uri") ?? "");
  const clientId = query.get("client_id");
  if (clientId !== CLIENT_ID || !redirect || !/^https?:$/.test(redirect.protocol)) {
    return { status: 400, json: { error: "invalid_request" } };
  }
  const state = query.get("state");
  if (state !== null) redirect.searchParams.set("state", state);
  const challenge = query.get("code_challenge");
  if (
    query.get("response_type") !== "code" || !challenge ||
    query.get("code_challenge_method") !== "S256"
  ) {
    redirect.searchParams.set("error", "invalid_request");
    return { status: 302, location: redirect.href };
  }
  const code = randomBytes(24).toString("base64url");
  codes.set(code, {
    clientId,
    redirectUri: query.get("redirect_uri") ?? "",
    challenge,
    nonce: query.get("nonce") ?? undefined,
    expiresAtMs: Date.now() + CODE_TTL_MS,
  });
  const [oldest] = codes.keys();
  if (codes.size > MAX_CODES && oldest !== undefined) codes.delete(oldest);
  redirect.searchParams.set("code", code);
  return { status: 302, location: redirect.href };
};

const exchange = async (idp: Idp, form: URLSearchParams): Promise<Answer> => {
  const text = form.get("code") ?? "";
  const code = idp.codes.get(text);
  idp.codes.delete(text); // a code is good for one attempt
  const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest(
    "base64url",
  );
  const isRight = form.get("grant_type") === "authorization_code" && code !== undefined &&
    code.expiresAtMs > Date.now() && code.clientId === form.get("client_id") &&
    code.redirectUri === form.get("redirect_uri") && code.challenge === challenge;
  if (!isRight) return { status: 400, json: { error: "invalid_grant" } };
  return {
    status: 200,
    json: {
      access_token: randomBytes(24).toString("base64url"),
      token_type: "Bearer",
      expires_in: TOKEN_TTL_SECONDS,
      id_token: await idToken(idp, code.nonce),
    },
  };
};

const readForm = async (request: http.IncomingMessage): Promise<string> => {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of request) {
    text += decoder.decode(part, { stream: true });
    if (text.length > MAX_BODY_BYTES) throw new Error("the form is too large");
  }
  return text;
};

const send = (response: http.ServerResponse, { status, json, location }: Answer): void => {
  response.writeHead(status, {
    "Cache-Control": "no-store",
    "Content-Type": "application/json",
    ...(location === undefined ? {} : { Location: location }),
  });
  response.end(json === undefined ? "" : JSON.stringify(json));
};

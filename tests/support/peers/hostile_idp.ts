import http, { type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from "jose";
import {
  createAuthority,
  issueServerCertificate,
} from "../../../scripts/controlplane/certificates.ts";

/** A raw answer. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sends nothing, or only the head, and keeps the connection open. */
  readonly stall?: "head" | "body";
}

/** The answer of the token endpoint to one code. An empty plan gives an honest ID token. */
export interface Plan {
  /** Replaces honest claims. `undefined` removes one. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: JWTHeaderParameters;
  readonly key?: CryptoKey | Uint8Array;
  /** Creates the whole ID token from the claims. */
  readonly idToken?: (claims: JWTPayload) => string | Promise<string>;
  /** Replaces the answer. */
  readonly reply?: Reply;
}

/** A request to the identity provider. */
export interface Asked {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly form: URLSearchParams;
}

/** The registered client. Its secret needs encoding in headers and forms. */
export const HOSTILE_CLIENT = { id: "gateway-1", secret: "client/+ secret that must not leak" };

const honest = await generateKeyPair("RS256");
const kid = "the-key";

/** An identity provider whose answers a test controls, and which records every secret. */
export class HostileIdp implements AsyncDisposable {
  readonly issuer: string;
  readonly caPem: string;
  readonly caFile: string;
  /** The received and issued codes, verifiers, tokens and client credentials. */
  readonly secrets: string[] = [HOSTILE_CLIENT.secret];
  /** The requests, in order. */
  readonly requests: Asked[] = [];
  /** Replaces every answer. */
  outage: Reply | undefined;
  /** Replaces the discovery document. */
  discovery: Reply | undefined;
  /** Replaces fields of the honest discovery document. */
  metadata: Readonly<Record<string, unknown>> = {};
  /** Replaces the keys. */
  jwks: Reply | undefined;
  readonly #server: http.Server;
  readonly #logins = new Map<string, { readonly nonce: string; readonly plan: Plan }>();

  private constructor(server: http.Server, scheme: string, caPem: string, caFile: string) {
    this.#server = server;
    this.issuer = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.caPem = caPem;
    this.caFile = caFile;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  static async start(scheme: "http" | "https" = "https"): Promise<HostileIdp> {
    const authority = await createAuthority("hostile identity provider of a test");
    const caFile = await Deno.makeTempFile({ prefix: "xbind-hostile-", suffix: ".pem" });
    await Deno.writeTextFile(caFile, authority.cert);
    const server = scheme === "http"
      ? http.createServer()
      : https.createServer(await issueServerCertificate(authority, ["127.0.0.1"]));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new HostileIdp(server, scheme, authority.cert, caFile);
  }

  /** Returns the JWK of its published key. */
  static async publicJwk() {
    return { ...await exportJWK(honest.publicKey), kid, use: "sig", alg: "RS256" };
  }

  /** The requested paths, in order. */
  get asked(): string[] {
    return this.requests.map(({ path }) => path);
  }

  /** The number of requests for the keys. */
  get keyFetches(): number {
    return this.asked.filter((path) => path === "/jwks").length;
  }

  /** Publishes these keys instead of its own. */
  publish(...keys: readonly unknown[]): void {
    this.jwks = json({ keys });
  }

  /** Approves a login, and returns the callback with a code that is answered by this plan. */
  approve(authorizationUrl: string, plan: Plan = {}): string {
    const asked = new URL(authorizationUrl).searchParams;
    const code = `code-${crypto.randomUUID()}`;
    this.secrets.push(code);
    this.#logins.set(code, { nonce: asked.get("nonce") ?? "", plan });
    const callback = new URL(asked.get("redirect_uri") ?? "");
    callback.searchParams.set("code", code);
    callback.searchParams.set("state", asked.get("state") ?? "");
    return callback.href;
  }

  /** Stops listening, so that connections are refused. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    await Deno.remove(this.caFile);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const part of request) body += part;
    const { url: path = "", headers: { authorization } } = request;
    const form = new URLSearchParams(body);
    this.requests.push({ path, authorization, form });
    if (authorization) this.secrets.push(authorization.replace(/^Basic /, ""));
    const reply = this.outage ?? await this.#replyTo(path, form);
    if (reply.stall === "head") return;
    response.writeHead(reply.status ?? 200, {
      "Content-Type": "application/json",
      ...reply.headers,
    });
    if (reply.stall === "body") return void response.write("{");
    response.end(reply.body ?? "");
  }

  async #replyTo(path: string, form: URLSearchParams): Promise<Reply> {
    if (path === "/.well-known/openid-configuration") {
      return this.discovery ?? json({ ...this.#honestMetadata(), ...this.metadata });
    }
    if (path === "/jwks") return this.jwks ?? json({ keys: [await HostileIdp.publicJwk()] });
    const login = this.#logins.get(form.get("code") ?? "");
    if (path !== "/token" || !login) return { status: 404 };
    this.secrets.push(form.get("code_verifier") ?? "");
    return login.plan.reply ?? json(await this.#tokens(login.nonce, login.plan));
  }

  #honestMetadata() {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize?tenant=a`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256", "HS256", "none"],
    };
  }

  async #tokens(nonce: string, plan: Plan) {
    const seconds = Math.floor(Date.now() / 1000);
    const claims = {
      iss: this.issuer,
      aud: HOSTILE_CLIENT.id,
      sub: "ada",
      iat: seconds,
      exp: seconds + 60,
      nonce,
      ...plan.claims,
    };
    const idToken = plan.idToken ? await plan.idToken(claims) : await new SignJWT(claims)
      .setProtectedHeader(plan.header ?? { alg: "RS256", kid })
      .sign(plan.key ?? honest.privateKey);
    const accessToken = `access-${crypto.randomUUID()}`;
    this.secrets.push(accessToken, ...(idToken.length > 20 ? [idToken] : []));
    return { access_token: accessToken, token_type: "Bearer", id_token: idToken };
  }
}

const json = (body: unknown): Reply => ({ body: JSON.stringify(body) });

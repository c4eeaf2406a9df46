import https from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";
import {
  type Certificate,
  createAuthority,
  issueServerCertificate,
} from "../../../scripts/controlplane/certificates.ts";
import { freePort } from "../../../scripts/controlplane/free_port.ts";
import { GATEWAY_URL } from "./login_browser.ts";

/** A secret with every character that needs encoding in a header or a form. */
export const CLIENT_SECRET = "s3cret/+%:& that must not leak";

/** The claims of an account. `sub` is required. */
export type Account = Readonly<Record<string, unknown>> & { readonly sub: string };

/** The options of an identity provider. */
export interface IdentityProviderOptions {
  /** The host of the issuer URL. Clients must resolve it to 127.0.0.1. */
  readonly host?: string;
  /** The methods of client authentication at the token endpoint. */
  readonly clientAuthMethods?: readonly string[];
}

/** The used part of the npm package, which has no types. */
interface Oidc {
  callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  interactionFinished(
    request: IncomingMessage,
    response: ServerResponse,
    result: unknown,
  ): Promise<void>;
  readonly Grant: new (of: { accountId: string; clientId: string }) => {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  };
}

/** A stored session, code or grant. */
interface Stored {
  readonly uid?: string;
  readonly grantId?: string;
  readonly consumed?: number;
}

interface InteractionContext {
  readonly oidc: {
    readonly client: { readonly clientId: string };
    readonly session: { readonly accountId: string };
  };
}

const CLAIMS = ["sub", "email", "email_verified", "name", "groups", "employee"];
const CALLBACK = `${GATEWAY_URL}/api/auth/oidc/callback`;

/** A real OpenID provider over TLS with its own authority. It decides logins without a user. */
export class IdentityProvider implements AsyncDisposable {
  readonly issuer: string;
  /** The certificate of its authority. */
  readonly caPem: string;
  /** The file of that certificate, for flags. */
  readonly caFile: string;
  /** The requested paths, in order. */
  readonly asked: string[] = [];
  /** The account of the next login. Without it, the login is denied. */
  account: Account | undefined = { sub: "ada" };
  readonly #port: number;
  readonly #options: IdentityProviderOptions;
  readonly #certificate: Certificate;
  readonly #stored = new Map<string, Stored>();
  #provider: Oidc | undefined;
  #server: https.Server | undefined;

  private constructor(
    options: IdentityProviderOptions,
    host: string,
    certificate: Certificate,
    caPem: string,
    caFile: string,
  ) {
    this.#options = options;
    this.#certificate = certificate;
    this.#port = freePort();
    this.issuer = `https://${host}:${this.#port}`;
    this.caPem = caPem;
    this.caFile = caFile;
  }

  /** Prepares a provider that does not listen yet, with a known issuer URL and authority. */
  static async prepare(options: IdentityProviderOptions = {}): Promise<IdentityProvider> {
    const caFile = await Deno.makeTempFile({ prefix: "xbind-idp-", suffix: ".pem" });
    const { host = "127.0.0.1" } = options;
    const authority = await createAuthority("identity provider of a test");
    const certificate = await issueServerCertificate(authority, [host]);
    await Deno.writeTextFile(caFile, authority.cert);
    const prepared = new IdentityProvider(options, host, certificate, authority.cert, caFile);
    await prepared.rotateKeys();
    return prepared;
  }

  /** Starts a provider. */
  static async start(options?: IdentityProviderOptions): Promise<IdentityProvider> {
    const prepared = await IdentityProvider.prepare(options);
    await prepared.listen();
    return prepared;
  }

  /** The port on 127.0.0.1, which restarts keep. */
  get port(): number {
    return this.#port;
  }

  /** Replaces the signing key and the published keys by a new key. */
  async rotateKeys(): Promise<void> {
    const { privateKey } = await generateKeyPair("RS256", { extractable: true });
    const kid = `key-${crypto.randomUUID()}`;
    const jwk = { ...await exportJWK(privateKey), kid, use: "sig", alg: "RS256" };
    this.#provider = new Provider(this.issuer, this.#configuration(jwk)) as unknown as Oidc;
  }

  /** Starts to listen, on the same port after `close`. */
  async listen(): Promise<void> {
    const server = https.createServer(this.#certificate, (request, response) => {
      const [path = ""] = (request.url ?? "").split("?");
      this.asked.push(path);
      const answer = path.startsWith("/interaction/")
        ? this.#interact(request, response)
        : this.#provider?.callback()(request, response);
      answer?.catch(() => response.destroy());
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.#port, "127.0.0.1", resolve);
    });
    this.#server = server;
  }

  /** Stops listening, so that connections are refused. */
  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    await Deno.remove(this.caFile);
  }

  /** Serves the sign-in page, which approves or denies at once. */
  async #interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const result = this.account
      ? { login: { accountId: this.account.sub } }
      : { error: "access_denied", error_description: "the user said no" };
    await this.#provider?.interactionFinished(request, response, result);
  }

  #configuration(jwk: object) {
    const { clientAuthMethods = ["client_secret_basic", "client_secret_post", "none"] } =
      this.#options;
    const client = (client_id: string, method: string) => ({
      client_id,
      token_endpoint_auth_method: method,
      ...(method === "none" ? {} : { client_secret: CLIENT_SECRET }),
      redirect_uris: [CALLBACK],
      grant_types: ["authorization_code"],
      response_types: ["code"],
    });
    return {
      adapter: adapterOver(this.#stored),
      jwks: { keys: [jwk] },
      clients: clientAuthMethods.map((method) => client(CLIENT_IDS[method] ?? method, method)),
      clientAuthMethods: [...clientAuthMethods],
      // The ID token must have the claims, because the gateway reads nothing else.
      conformIdTokenClaims: false,
      claims: { openid: CLAIMS, profile: [], email: [] },
      cookies: { keys: ["a key of the test"] },
      features: { devInteractions: { enabled: false } },
      interactions: {
        url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}`,
      },
      findAccount: (_: unknown, accountId: string) => ({
        accountId,
        claims: () => ({ ...this.account, sub: accountId }),
      }),
      // A signed-in user consents to everything.
      loadExistingGrant: async ({ oidc }: InteractionContext) => {
        if (!this.#provider) return undefined;
        const { Grant } = this.#provider;
        const grant = new Grant({
          clientId: oidc.client.clientId,
          accountId: oidc.session.accountId,
        });
        grant.addOIDCScope("openid profile email");
        await grant.save();
        return grant;
      },
      ttl: {
        AccessToken: 60,
        AuthorizationCode: 60,
        IdToken: 60,
        Interaction: 60,
        Session: 60,
        Grant: 60,
      },
    };
  }
}

const CLIENT_IDS: Readonly<Record<string, string>> = {
  client_secret_basic: "gateway-basic",
  client_secret_post: "gateway-post",
  none: "gateway-public",
};

/** Implements the package's storage with a map that lasts as long as the test. */
const adapterOver = (stored: Map<string, Stored>) => (model: string) => {
  const key = (id: string) => `${model} ${id}`;
  return {
    upsert: (id: string, value: Stored) => Promise.resolve(void stored.set(key(id), value)),
    find: (id: string) => Promise.resolve(stored.get(key(id))),
    findByUid: (uid: string) =>
      Promise.resolve([...stored.values()].find((value) => value.uid === uid)),
    consume: (id: string) =>
      Promise.resolve(
        void stored.set(key(id), { ...stored.get(key(id)), consumed: Date.now() / 1000 }),
      ),
    destroy: (id: string) => Promise.resolve(void stored.delete(key(id))),
    revokeByGrantId: (grantId: string) => {
      for (const [at, value] of stored) if (value.grantId === grantId) stored.delete(at);
      return Promise.resolve();
    },
  };
};

import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  customFetch,
  None,
} from "oauth4webapi";
import { unauthenticated } from "../../errors.ts";
import { type IdpFetch, IdpUnreachableError } from "./idp_fetch.ts";
import type { IdpMetadata } from "./idp_metadata.ts";
import type { OidcSettings } from "./settings.ts";

/** Who asks whom. */
export interface ExchangeCodeDeps {
  readonly fetch: IdpFetch;
  readonly metadata: IdpMetadata;
  readonly settings: Pick<OidcSettings, "issuerUrl" | "clientId" | "clientSecret">;
  readonly redirectUrl: string;
}

/** Trades the code of a checked callback for the ID token, which is not verified here. */
export const exchangeCode = async (
  { fetch, metadata, settings, redirectUrl }: ExchangeCodeDeps,
  parameters: URLSearchParams,
  codeVerifier: string,
  signal: AbortSignal | undefined,
): Promise<string> => {
  if (!parameters.get("code")) throw unauthenticated("the identity provider sent no code");
  const response = await authorizationCodeGrantRequest(
    metadata.server,
    { client_id: settings.clientId },
    clientAuth(settings.clientSecret?.reveal(), metadata),
    parameters,
    redirectUrl,
    codeVerifier,
    {
      [customFetch]: fetch,
      [allowInsecureRequests]: /^http:/i.test(settings.issuerUrl),
      ...(signal ? { signal } : {}),
    },
  );
  if (response.status >= 500 || response.status === 429) {
    throw new IdpUnreachableError(`its token endpoint answered ${response.status}`);
  }
  const answer = await fieldsIn(response);
  if (response.status !== 200) {
    throw unauthenticated(`the identity provider refused the code${errorCode(answer.error)}`);
  }
  const { id_token: idToken } = answer;
  if (typeof idToken !== "string" || idToken === "") {
    throw unauthenticated("the identity provider sent no ID token");
  }
  return idToken;
};

/** How the client proves itself: Basic is what every server must know, and what it gets first. */
const clientAuth = (secret: string | undefined, { server }: IdpMetadata): ClientAuth => {
  if (!secret) return None();
  const methods: unknown = server.token_endpoint_auth_methods_supported;
  const offers = (name: string) => Array.isArray(methods) && methods.includes(name);
  return !offers("client_secret_basic") && offers("client_secret_post")
    ? ClientSecretPost(secret)
    : ClientSecretBasic(secret);
};

const fieldsIn = async (response: Response): Promise<Readonly<Record<string, unknown>>> => {
  try {
    const answer: unknown = JSON.parse(await response.text());
    return typeof answer === "object" && answer !== null ? { ...answer } : {};
  } catch {
    return {};
  }
};

/** An OAuth error code for a message; anything that does not look like one is left out. */
export const errorCode = (error: unknown): string =>
  typeof error === "string" && /^[a-z_]{1,40}$/.test(error) ? ` (${error})` : "";

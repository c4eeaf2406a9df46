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
import type { IdpMetadata } from "./discovery.ts";
import type { OidcSettings } from "./settings.ts";

/** What the exchange needs. */
export interface ExchangeCodeDeps {
  readonly fetch: IdpFetch;
  readonly metadata: IdpMetadata;
  readonly settings: Pick<OidcSettings, "issuerUrl" | "clientId" | "clientSecret">;
  readonly redirectUrl: string;
}

/** Exchanges the code of a checked callback for the ID token; does not verify the token. */
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

/** Chooses how to send the client secret. Servers accept Basic, unless they offer only POST. */
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

/** Formats an OAuth error code for a message; returns nothing if the text is no such code. */
export const errorCode = (error: unknown): string =>
  typeof error === "string" && /^[a-z_]{1,40}$/.test(error) ? ` (${error})` : "";

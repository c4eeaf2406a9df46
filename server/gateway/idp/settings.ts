import type { Config } from "../../config.ts";
import type { Secret } from "../../../common/hidden.ts";

/** The identity provider and what we are to it. */
export interface OidcSettings {
  /** Exactly as given: subjects begin with it. */
  readonly issuerUrl: string;
  readonly clientId: string;
  /** Absent for a public client. */
  readonly clientSecret?: Secret<string> | undefined;
  readonly usernameClaim: string;
  readonly groupsClaim: string;
  readonly scopes: readonly string[];
}

type OidcFlags = Pick<
  Config,
  | "oidcIssuerUrl"
  | "oidcClientId"
  | "oidcClientSecret"
  | "oidcUsernameClaim"
  | "oidcGroupsClaim"
  | "oidcScopes"
>;

/** The settings that the flags make; a mock issuer replaces all of them that concern the issuer. */
export const oidcSettings = (
  config: OidcFlags,
  mock?: { readonly issuerUrl: string; readonly clientId: string; readonly usernameClaim: string },
): OidcSettings => ({
  issuerUrl: mock?.issuerUrl ?? config.oidcIssuerUrl,
  clientId: mock?.clientId ?? config.oidcClientId,
  clientSecret: mock ? undefined : config.oidcClientSecret,
  usernameClaim: mock?.usernameClaim ?? config.oidcUsernameClaim,
  groupsClaim: config.oidcGroupsClaim,
  scopes: config.oidcScopes,
});

import type { Config } from "../../config.ts";
import type { Hidden } from "../../../common/hidden.ts";

/** The identity provider, and this gateway as its client. */
export interface OidcSettings {
  /** The unchanged text of the flag: subjects start with it. */
  readonly issuerUrl: string;
  readonly clientId: string;
  /** Absent for a public client. */
  readonly clientSecret?: Hidden<string> | undefined;
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

/** Reads the settings from the flags; a mock identity provider overrides those that describe it. */
export const oidcSettings = (
  config: OidcFlags,
  mock?: Pick<OidcSettings, "issuerUrl" | "clientId" | "usernameClaim">,
): OidcSettings => ({
  issuerUrl: mock?.issuerUrl ?? config.oidcIssuerUrl,
  clientId: mock?.clientId ?? config.oidcClientId,
  clientSecret: mock ? undefined : config.oidcClientSecret,
  usernameClaim: mock?.usernameClaim ?? config.oidcUsernameClaim,
  groupsClaim: config.oidcGroupsClaim,
  scopes: config.oidcScopes,
});

import { forbidden } from "../../errors.ts";

/** What tells a page of ours from a page of somebody else; headers as they came, absent = undefined. */
export interface RequestOrigin {
  readonly method: string;
  /** Whether the caller is known by the cookie, which browsers also send for other sites. */
  readonly viaCookie: boolean;
  readonly secFetchSite: string | undefined;
  readonly origin: string | undefined;
  readonly host: string | undefined;
  readonly externalUrl: string;
  readonly redirectUrl: string;
}

const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];

/** Refuses a change that another site's page asks for with the user's cookie. */
export const checkSameOrigin = (request: RequestOrigin): void => {
  const { method, viaCookie, secFetchSite, origin } = request;
  if (!viaCookie || SAFE_METHODS.includes(method)) return;
  if (secFetchSite === "same-origin" || secFetchSite === "none") return;
  if (secFetchSite === undefined && origin === undefined) return; // not a browser
  if (secFetchSite === "cross-site" || secFetchSite === "same-site") throw crossSite();
  if (origin === undefined || !isOwnOrigin(origin, request)) throw crossSite();
};

const isOwnOrigin = (
  origin: string,
  { host, externalUrl, redirectUrl }: RequestOrigin,
): boolean => {
  const from = URL.parse(origin);
  if (!from || !/^https?:$/.test(from.protocol)) return false;
  // With the origin's scheme, so that its default port counts as none in the Host header too.
  const asked = host ? URL.parse(`${from.protocol}//${host}`) : undefined;
  return [asked, URL.parse(externalUrl), URL.parse(redirectUrl)]
    .some((own) => own?.host === from.host);
};

const crossSite = () =>
  forbidden(
    "Cannot accept the request: it comes from a page of another site; " +
      "if this is the gateway's own page, set --external-url to the address that browsers use",
  );

import { CliError } from "../cli_error.ts";

/**
 * Parses the gateway's base URL into the form under which sessions are saved: `https://` unless a
 * scheme is given, and without a trailing `/` or `/api`.
 */
export const parseServerUrl = (text: string): URL => {
  const given = text.trim();
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(given) ? given : `https://${given}`);
  const fault = given === "" ? "it is empty" : faultOf(given, url);
  if (fault || !url) {
    throw new CliError(
      "usage",
      `Cannot use ${JSON.stringify(withoutUserInfo(given))} as the gateway's URL: ${fault}`,
      "Give the address that the provider told you, such as https://bind.example.org",
    );
  }
  url.pathname = url.pathname.replace(/\/+$/, "").replace(/\/api$/, "").replace(/\/+$/, "");
  return url;
};

/** Formats the URL for output and for saving, without the trailing slash. */
export const serverText = (url: URL): string => url.href.replace(/\/$/, "");

const faultOf = (given: string, url: URL | null): string | undefined => {
  if (!url || /[\s\\]/.test(given) || given.startsWith("/")) return "it is no URL";
  if (url.protocol !== "https:" && url.protocol !== "http:") return "it is neither https nor http";
  if (url.username || url.password) return "it holds a user name or password";
  if (url.search || url.hash) return "it holds a query or a fragment";
  return undefined;
};

/** Removes the user name and password, so that no message repeats them. */
const withoutUserInfo = (given: string): string => given.replace(/[^/\s]*@/, "…@");

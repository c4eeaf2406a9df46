import { invalidRequest } from "../../errors.ts";

/** Where a login may end: on the gateway itself, or at a listener on the user's own machine. */
export type Redirect =
  | { readonly kind: "local"; readonly location: string }
  | { readonly kind: "loopback"; readonly url: string };

const MAX_CHARACTERS = 2_000;
/** Browsers read a backslash as a slash, and ignore tabs and line ends. */
const DANGEROUS = /[\\\p{Cc}]/u;
/** Matches the original text, because the URL parser turns many spellings into 127.0.0.1. */
const LOOPBACK =
  /^[Hh][Tt][Tt][Pp][Ss]?:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?=[/?#]|$)/;
const ANY_BASE = new URL("http://gateway.invalid");

/** Parses the `redirect` of a login into the form that is sent; refuses anything unsafe. */
export const checkRedirect = (value: string | undefined): Redirect => {
  if (value === undefined || value === "") return { kind: "local", location: "/" };
  if (value.length > MAX_CHARACTERS) throw refused("it is over 2,000 characters");
  if (DANGEROUS.test(value)) throw refused("it contains a backslash or a control character");
  const redirect = value.startsWith("/") ? localRedirect(value) : loopbackRedirect(value);
  const sent = redirect.kind === "local" ? redirect.location : redirect.url;
  // Encoding makes it longer, and it must fit into the state cookie.
  if (sent.length > MAX_CHARACTERS) throw refused("it is over 2,000 characters when encoded");
  return redirect;
};

/** Sets `token` in the query of the URL; keeps the fragment. */
export const withToken = (url: string, token: string): string => {
  const target = new URL(url);
  target.searchParams.set("token", token);
  return target.href;
};

const localRedirect = (value: string): Redirect => {
  const url = URL.parse(value, ANY_BASE);
  // Dot segments may hide two slashes: "/.//host" has the path "//host".
  if (value.startsWith("//") || !url || url.pathname.startsWith("//")) throw notAllowed();
  if (url.origin !== ANY_BASE.origin) throw notAllowed();
  return { kind: "local", location: url.pathname + url.search + url.hash };
};

const loopbackRedirect = (value: string): Redirect => {
  const [, host] = LOOPBACK.exec(value) ?? [];
  const url = URL.parse(value);
  if (!host || !url || url.hostname !== host || url.username || url.password) throw notAllowed();
  return { kind: "loopback", url: url.href };
};

const notAllowed = () =>
  refused("use a path on this gateway, or an http(s) URL on localhost, 127.0.0.1 or [::1]");

const refused = (reason: string) => invalidRequest(`Cannot use this redirect: ${reason}`);

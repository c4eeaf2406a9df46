/** The address if a browser may safely open it: http and https only, never a script. */
export function webUrl(text: string | undefined): string | undefined {
  const url = text === undefined ? null : URL.parse(text.trim());
  return url?.protocol === "https:" || url?.protocol === "http:" ? url.href : undefined;
}

/** The address of a picture: never the gateway itself, where a GET such as a sign-out acts. */
export function iconUrl(text: string | undefined, gatewayOrigin: string): string | undefined {
  const url = webUrl(text);
  return url === undefined || new URL(url).origin === gatewayOrigin ? undefined : url;
}

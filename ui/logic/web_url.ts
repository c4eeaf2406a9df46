/** Returns the URL if a browser may safely open it: only http and https, never a script. */
export function webUrl(text: string | undefined): string | undefined {
  const url = text === undefined ? null : URL.parse(text.trim());
  return url?.protocol === "https:" || url?.protocol === "http:" ? url.href : undefined;
}

/** Returns the URL of an icon, but never one on the gateway, where a GET can sign the user out. */
export function iconUrl(text: string | undefined, gatewayOrigin: string): string | undefined {
  const url = webUrl(text);
  return url === undefined || new URL(url).origin === gatewayOrigin ? undefined : url;
}

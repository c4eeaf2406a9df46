/** The address if a browser may safely open it: http and https only, never a script. */
export function webUrl(text: string | undefined): string | undefined {
  const url = text === undefined ? null : URL.parse(text.trim());
  return url?.protocol === "https:" || url?.protocol === "http:" ? url.href : undefined;
}

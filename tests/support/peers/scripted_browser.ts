/** Where a browser arrived. */
export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const MAX_STEPS = 10;

/**
 * Opens a URL as a browser without cookies does, and follows redirects to the end; `stopAt` names
 * the URLs that it does not open any more.
 */
export async function browse(
  url: string,
  stopAt: (url: URL) => boolean = () => false,
): Promise<Page> {
  const cookies = new Map<string, string>();
  let next = new URL(url);
  for (let step = 0; step < MAX_STEPS; step++) {
    const response = await fetch(next, {
      redirect: "manual",
      headers: { Cookie: [...cookies.values()].join("; ") },
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      cookies.set(pair.split("=")[0] ?? "", pair);
    }
    const { status, headers } = response;
    const text = await response.text();
    const location = headers.get("Location");
    if (location === null) return { url: next, status, headers, text };
    next = new URL(location, next);
    if (stopAt(next)) return { url: next, status, headers, text };
  }
  throw new Error(`Too many redirects from ${url}`);
}

/** Whether this is the address that a command-line client waits at for its token. */
export const isLoopbackEnd = (url: URL): boolean =>
  url.hostname === "127.0.0.1" && url.searchParams.has("token");

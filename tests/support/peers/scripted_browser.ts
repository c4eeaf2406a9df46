/** The last page of a browser. */
export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const MAX_STEPS = 10;

/**
 * Opens a URL as a browser without cookies does, and follows all redirects. It does not open a URL
 * that `stopAt` selects.
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

/** Returns whether a URL is the address at which the CLI waits for its token. */
export const isLoopbackEnd = (url: URL): boolean =>
  url.hostname === "127.0.0.1" && url.searchParams.has("token");

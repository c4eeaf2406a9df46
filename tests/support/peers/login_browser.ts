/** The gateway as its users know it; browsers find the process behind this name. */
export const GATEWAY_URL = "https://gateway.example";

/** An answer as far as a login looks at it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where it sends the browser, as an absolute URL. */
  readonly location: string | undefined;
}

/** How a browser finds its way. */
export interface BrowserOptions {
  /** Where the gateway really listens. */
  readonly gateway: string;
  /** Authorities it trusts besides the system's. */
  readonly caPem?: string;
  /** An HTTP proxy for everything but the gateway. */
  readonly proxy?: string;
}

interface Cookie {
  readonly origin: string;
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

const MAX_STEPS = 10;

/** As much of a browser as a login needs: cookies, and one redirect at a time. */
export class LoginBrowser implements Disposable {
  readonly #options: BrowserOptions;
  readonly #client: Deno.HttpClient;
  #cookies: readonly Cookie[] = [];

  constructor(options: BrowserOptions) {
    this.#options = options;
    this.#client = Deno.createHttpClient({
      caCerts: options.caPem ? [options.caPem] : [],
      ...(options.proxy ? { proxy: { url: options.proxy } } : {}),
    });
  }

  /** Fetches a URL, or a path of the gateway, and keeps the cookies; follows nothing. */
  async get(target: string): Promise<Answer> {
    const url = new URL(target, GATEWAY_URL);
    const isGateway = url.origin === GATEWAY_URL;
    const address = isGateway ? `${this.#options.gateway}${url.pathname}${url.search}` : url;
    const response = await fetch(address, {
      ...(isGateway ? {} : { client: this.#client }),
      redirect: "manual",
      headers: { Cookie: this.#cookiesFor(url) },
    });
    for (const line of response.headers.getSetCookie()) this.#keep(url, line);
    const location = response.headers.get("Location");
    return {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
      location: location === null ? undefined : new URL(location, url).href,
    };
  }

  /** Goes from the gateway to the identity provider and back, but does not open the callback. */
  async approve(redirect = "/"): Promise<string> {
    const start = await this.get(
      `/api/auth/oidc/login?redirect=${encodeURIComponent(redirect)}`,
    );
    let answer = start;
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      if (!answer.location) break;
      if (steps > 0 && answer.location.startsWith(GATEWAY_URL)) return answer.location;
      answer = await this.get(answer.location);
    }
    throw new Error(`The login stopped at ${answer.status}: ${answer.text.slice(0, 500)}`);
  }

  /** A whole login; the answer is that of the gateway's callback. */
  async logIn(redirect?: string): Promise<Answer> {
    return await this.get(await this.approve(redirect));
  }

  /** The value of a cookie of the gateway. */
  cookie(name: string): string | undefined {
    return this.#cookies.find((cookie) => cookie.origin === GATEWAY_URL && cookie.name === name)
      ?.value;
  }

  /** Puts a cookie of the gateway in place of what it had, or removes it. */
  setCookie(name: string, value: string | undefined): void {
    this.#keep(new URL(GATEWAY_URL), `${name}=${value ?? "; Max-Age=0"}; Path=/`);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  #cookiesFor({ origin, pathname }: URL): string {
    return this.#cookies
      .filter((cookie) => cookie.origin === origin && pathname.startsWith(cookie.path))
      .map(({ name, value }) => `${name}=${value}`).join("; ");
  }

  #keep({ origin }: URL, line: string): void {
    const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
    const equals = pair.indexOf("=");
    const [name, value] = [pair.slice(0, equals), pair.slice(equals + 1)];
    const attribute = (key: string) =>
      attributes.find((text) => text.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1);
    const expires = attribute("expires");
    const isOver = attribute("max-age") === "0" ||
      (expires !== undefined && Date.parse(expires) <= Date.now());
    const others = this.#cookies.filter((cookie) =>
      cookie.origin !== origin || cookie.name !== name
    );
    this.#cookies = isOver
      ? others
      : [...others, { origin, name, value, path: attribute("path") ?? "/" }];
  }
}

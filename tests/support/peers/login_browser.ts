/** The gateway's public URL. Browsers connect to the process behind it. */
export const GATEWAY_URL = "https://gateway.example";

/** The parts of an answer that a login needs. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The redirect, as an absolute URL. */
  readonly location: string | undefined;
}

/** The network settings of a browser. */
export interface BrowserOptions {
  /** The real address of the gateway. */
  readonly gateway: string;
  /** Trusted authorities besides the system's. */
  readonly caPem?: string;
  /** An HTTP proxy for all hosts except the gateway. */
  readonly proxy?: string;
}

interface Cookie {
  readonly origin: string;
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

const MAX_STEPS = 10;

/** A minimal browser for logins: it keeps cookies, and follows one redirect at a time. */
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

  /** Fetches a URL or a path of the gateway, and keeps the cookies. Follows no redirect. */
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

  /** Logs in, and returns the answer of the gateway's callback. */
  async logIn(redirect?: string): Promise<Answer> {
    return await this.get(await this.approve(redirect));
  }

  /** Returns the value of a cookie of the gateway. */
  cookie(name: string): string | undefined {
    return this.#cookies.find((cookie) => cookie.origin === GATEWAY_URL && cookie.name === name)
      ?.value;
  }

  /** Replaces or removes a cookie of the gateway. */
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

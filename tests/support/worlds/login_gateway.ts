import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { Backend } from "../programs/backend.ts";
import { sharedProvider } from "../planes/control_planes.ts";
import { type Answer, GATEWAY_URL, LoginBrowser } from "../peers/login_browser.ts";

/** The parts of an identity provider that a gateway and its users need. */
export interface Issuer {
  readonly issuer: string;
  readonly caPem: string;
  readonly caFile: string;
}

/** The options of a gateway for logins. */
export interface LoginGatewayOptions {
  /** By default a public client. */
  readonly client?: { readonly id: string; readonly secret: string };
  /** By default the shared one. */
  readonly plane?: ControlPlane;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The `--oidc-ca-file`, by default the provider's own authority. Empty omits the flag. */
  readonly caFile?: string;
  /** An HTTP proxy for the browsers. */
  readonly browserProxy?: string;
}

/** A backend process with only the gateway, and browsers that log in. */
export class LoginGateway implements AsyncDisposable {
  readonly backend: Backend;
  readonly address: string;
  readonly #issuer: Issuer;
  readonly #proxy: string | undefined;
  readonly #browsers: LoginBrowser[] = [];

  private constructor(backend: Backend, address: string, issuer: Issuer, proxy?: string) {
    this.backend = backend;
    this.address = address;
    this.#issuer = issuer;
    this.#proxy = proxy;
  }

  /** Starts the gateway. The identity provider may be down. */
  static async start(issuer: Issuer, options: LoginGatewayOptions = {}): Promise<LoginGateway> {
    const { client, caFile = issuer.caFile } = options;
    const backend = await Backend.start(options.plane ?? await sharedProvider(), {
      flags: [
        "--enable-issuer=false",
        "--listen-address=127.0.0.1:0",
        "--zap-log-level=debug",
        `--external-url=${GATEWAY_URL}`,
        `--oidc-issuer-url=${issuer.issuer}`,
        `--oidc-client-id=${client?.id ?? "gateway-public"}`,
        ...(caFile === "" ? [] : [`--oidc-ca-file=${caFile}`]),
        ...options.flags ?? [],
      ],
      env: { ...(client ? { XBIND_OIDC_CLIENT_SECRET: client.secret } : {}), ...options.env },
    });
    const address = await backend.addressOf("/").catch(async (error) => {
      await backend[Symbol.asyncDispose]();
      throw error;
    });
    return new LoginGateway(backend, address, issuer, options.browserProxy);
  }

  /** Opens a browser without cookies, which is closed with the gateway. */
  browser(): LoginBrowser {
    const browser = new LoginBrowser({
      gateway: this.address,
      caPem: this.#issuer.caPem,
      ...(this.#proxy ? { proxy: this.#proxy } : {}),
    });
    this.#browsers.push(browser);
    return browser;
  }

  /** Logs in with a new browser, and returns its identity from `/api/me`. */
  async identityAfterLogin(): Promise<unknown> {
    const browser = this.browser();
    const answer = await browser.logIn();
    assert.equal(answer.status, 302, answer.text);
    const me = await browser.get("/api/me");
    assert.equal(me.status, 200, me.text);
    return JSON.parse(me.text);
  }

  /** Waits until logins can be started. */
  async ready(): Promise<void> {
    await eventually("a login can be started", async () => {
      return (await this.browser().get("/api/auth/oidc/login")).status === 302;
    });
  }

  /** Waits for the logged reason why the identity provider cannot be used. */
  async complaint(): Promise<string> {
    const { reason } = await this.backend.logged("identity provider cannot be used");
    return String(reason);
  }

  /** Asserts that the process answers. */
  async assertUp(): Promise<void> {
    const { status, text } = await this.browser().get("/api/healthz");
    assert.deepEqual({ status, text }, { status: 200, text: "ok" });
  }

  /** Asserts that the process wrote none of these texts, neither plain nor in base64. */
  assertNotLogged(secrets: readonly string[]): void {
    const written = `${this.backend.lines.join("\n")}\n${this.backend.stdout}`;
    assert.ok(written.includes('"msg":"listening"'), "the log was read");
    for (const secret of secrets) {
      assert.ok(secret.length >= 8, `"${secret}" is too short to search for`);
      for (const form of [secret, encodeURIComponent(secret), btoa(secret)]) {
        assert.equal(written.includes(form), false, `the log holds ${form}`);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const browser of this.#browsers) browser[Symbol.dispose]();
    await this.backend[Symbol.asyncDispose]();
  }
}

/** Asserts that the callback was refused with this status, in plain text and without a session. */
export async function assertRefused(
  browser: LoginBrowser,
  answer: Answer,
  status: number,
  message = /./,
): Promise<void> {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.text, message);
  assert.match(answer.headers.get("Content-Type") ?? "", /^text\/plain/);
  assert.equal(answer.location, undefined);
  assert.equal(browser.cookie("xbind_session"), undefined);
  assert.equal((await browser.get("/api/me")).status, 401);
}

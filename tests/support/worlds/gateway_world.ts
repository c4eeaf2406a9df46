import assert from "node:assert/strict";
import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import type { BindResult } from "../../../common/api/wire.ts";
import { Backend } from "../programs/backend.ts";
import type { DaemonOptions } from "../programs/daemon.ts";

/** The result of a login. */
export interface Login {
  /** `Set-Cookie` of the first step. */
  readonly stateCookie: string;
  /** All `Set-Cookie` of the last step. */
  readonly cookies: readonly string[];
  /** The final redirect. */
  readonly location: string;
  /** The session token. */
  readonly token: string;
}

/** A backend process with the mock identity provider, and its callers. */
export class Gateway implements AsyncDisposable {
  readonly backend: Backend;
  /** The address, such as `http://127.0.0.1:4711`. */
  readonly url: string;

  private constructor(backend: Backend, url: string) {
    this.backend = backend;
    this.url = url;
  }

  /** Starts a backend on a free port, and waits until it answers. */
  static async start(plane: ControlPlane, options: DaemonOptions = {}): Promise<Gateway> {
    const backend = await Backend.start(plane, {
      ...options,
      flags: ["--listen-address=127.0.0.1:0", "--oidc-mock", ...options.flags ?? []],
    });
    return await Gateway.of(backend);
  }

  /** Waits until a started backend answers, and ends it otherwise. */
  static async of(backend: Backend): Promise<Gateway> {
    try {
      return new Gateway(backend, await backend.addressOf("/"));
    } catch (cause) {
      await backend[Symbol.asyncDispose]();
      throw new Error(`The backend did not start: ${backend.lines.join("\n")}`, { cause });
    }
  }

  /** Sends a request without following redirects. */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    return await fetch(new URL(path, this.url), { redirect: "manual", ...init });
  }

  /** Sends a request with a token. */
  async as(token: string, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("Authorization", `Bearer ${token}`);
    return await this.request(path, { ...init, headers });
  }

  /** Reads a path with a token. The answer must be 200 and JSON. */
  async read<T>(token: string, path: string): Promise<T> {
    return await okJson<T>(await this.as(token, path));
  }

  /** Sends a bind, and returns any answer. */
  async tryBind(token: string, exportName: string): Promise<Response> {
    return await this.as(token, "/api/bind", postJson({ export: exportName }));
  }

  /** Binds an Export. */
  async bind(token: string, exportName: string): Promise<BindResult> {
    return await okJson<BindResult>(await this.tryBind(token, exportName));
  }

  /** Starts a login, and returns the cookie and the URL of the mock identity provider. */
  async startLogin(redirect?: string): Promise<{ stateCookie: string; authorizationUrl: string }> {
    const query = redirect === undefined ? "" : `?redirect=${encodeURIComponent(redirect)}`;
    const started = await eventually("the mock identity provider is known", async () => {
      const answer = await this.request(`/api/auth/oidc/login${query}`);
      const text = await answer.text();
      assert.equal(answer.status, 302, text);
      return answer;
    });
    const [stateCookie = "", ...others] = started.headers.getSetCookie();
    assert.deepEqual(others, []);
    return { stateCookie, authorizationUrl: locationOf(started) };
  }

  /** Logs in as a browser does, step by step. */
  async login(redirect?: string): Promise<Login> {
    const { stateCookie, authorizationUrl } = await this.startLogin(redirect);
    const approved = await fetch(authorizationUrl, { redirect: "manual" });
    await approved.body?.cancel();
    const callback = new URL(locationOf(approved));
    const finished = await this.request(callback.pathname + callback.search, {
      headers: { Cookie: cookiePair(stateCookie) },
    });
    const text = await finished.text();
    assert.equal(finished.status, 302, text);
    const cookies = finished.headers.getSetCookie();
    const session = cookies.find((cookie) => cookie.startsWith("xbind_session=")) ?? "";
    const token = cookiePair(session).slice("xbind_session=".length);
    assert.notEqual(token, "");
    return { stateCookie, cookies, location: locationOf(finished), token };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.backend[Symbol.asyncDispose]();
  }
}

/** Returns `name=value` of a `Set-Cookie` header, as browsers send it back. */
export const cookiePair = (setCookie: string): string => setCookie.split(";")[0] ?? "";

/** Returns the options of a POST with this JSON value. */
export const postJson = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

const locationOf = (response: Response): string =>
  response.headers.get("Location") ?? assert.fail(`${response.status} without a Location`);

/** Returns the body of an answer that must be 200 and JSON. */
export async function okJson<T>(response: Response): Promise<T> {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.match(response.headers.get("Content-Type") ?? "", /^application\/json\b/);
  return JSON.parse(text);
}

/** Asserts that an answer is a JSON error with this status, and returns its message. */
export async function failure(response: Response, status: number, message = /./): Promise<string> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  assert.match(response.headers.get("Content-Type") ?? "", /^application\/json\b/);
  const body: unknown = JSON.parse(text);
  assert.deepEqual(Object.keys(body as object), ["error"]);
  const { error } = body as { error: unknown };
  assert.ok(typeof error === "string", text);
  assert.match(error, message);
  return error;
}

/** Keys that several processes share, also as environment variables. */
export interface SessionKeys {
  readonly signingKey: Uint8Array;
  readonly encryptionKey: Uint8Array;
  readonly env: Readonly<Record<string, string>>;
}

/** Creates new session keys. */
export function sessionKeys(): SessionKeys {
  const signingKey = crypto.getRandomValues(new Uint8Array(64));
  const encryptionKey = crypto.getRandomValues(new Uint8Array(32));
  return {
    signingKey,
    encryptionKey,
    env: {
      XBIND_COOKIE_SIGNING_KEY: signingKey.toBase64(),
      XBIND_COOKIE_ENCRYPTION_KEY: encryptionKey.toBase64(),
    },
  };
}

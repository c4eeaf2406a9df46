import {
  BIND_RESULT,
  type BindResult,
  BUNDLE,
  CATALOG,
  type Catalog,
  CLUSTERS,
  type Clusters,
  ERROR_BODY,
  INSTANCES,
  type Instances,
  ME,
  type Me,
  PROVIDER_INFO,
  type ProviderInfo,
} from "../../common/api/wire.ts";
import { Hidden } from "../../common/hidden.ts";
import type { Environment } from "../../common/http/proxy_for.ts";
import { type Asked, GatewayError, loginRemedy, misshapen, refusedBy } from "./gateway_error.ts";
import { type GatewayAnswer, sendToGateway } from "./send.ts";
import { parseServerUrl, serverText } from "./server_url.ts";
import { anything, type Shape, ShapeError } from "../../common/shape.ts";

/** How to reach a gateway, and with which token. */
export interface GatewayClientOptions {
  /** Base URL, such as `https://bind.example.org`. */
  readonly server: string | URL;
  /** A session token, or a provider token where the gateway accepts one. */
  readonly token?: string | Hidden<string> | undefined;
  /** PEM certificates that replace the system's roots. */
  readonly caPem?: string | undefined;
  /** Where `HTTPS_PROXY` and `NO_PROXY` are read; without it every connection is direct. */
  readonly env?: Environment | undefined;
  /** For remedies: whether the token came from `XBIND_TOKEN`. */
  readonly tokenFromEnv?: boolean | undefined;
}

const READ_MS = 30_000;
/** The gateway itself waits 30 s for the issuer. */
const BIND_MS = 45_000;
const MIB = 1024 * 1024;
const MAX_BYTES = 2 * MIB;
const MAX_LIST_BYTES = 64 * MIB;
const PICKUP_PATH = /^\/api\/bundle\/(?!\.{1,2}$)[\w.~-]{1,4000}$/;

interface Call<T> {
  readonly what: string;
  readonly path: string;
  readonly shape: Shape<T>;
  readonly body?: unknown;
  /** Public paths and pickups get no token. */
  readonly isPublic?: boolean;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** The meaning of a 404 of this call. */
  readonly missing?: string;
}

/**
 * Calls a gateway. Each call is sent once, follows no redirect, is limited in time and size, and
 * returns a checked answer. Throws a `GatewayError`, or the signal's reason.
 */
export class GatewayClient {
  readonly base: URL;
  readonly #token: Hidden<string> | undefined;
  readonly #options: GatewayClientOptions;
  #clock: { readonly gateway: Date; readonly ours: Date } | undefined;

  constructor(options: GatewayClientOptions) {
    const { server, token } = options;
    this.base = parseServerUrl(typeof server === "string" ? server : server.href);
    this.#token = typeof token === "string" ? new Hidden(token) : token;
    this.#options = options;
  }

  /** The gateway's clock and ours at its last answer; undefined before the first. */
  get clock(): { readonly gateway: Date; readonly ours: Date } | undefined {
    return this.#clock;
  }

  /** Reads the provider's name and the features of its gateway. */
  provider(signal: AbortSignal): Promise<ProviderInfo> {
    const call = { what: "read the provider's name", path: "/api/provider", isPublic: true };
    return this.#json({ ...call, shape: PROVIDER_INFO }, signal);
  }

  /** Reads the identity of the session. */
  me(signal: AbortSignal): Promise<Me> {
    return this.#json({ what: "check the session", path: "/api/me", shape: ME }, signal);
  }

  /** Lists Ready Exports and Collections. */
  catalog(signal: AbortSignal): Promise<Catalog> {
    const call = { what: "list the catalog", path: "/api/catalog", maxBytes: MAX_LIST_BYTES };
    return this.#json({ ...call, shape: CATALOG }, signal);
  }

  /** Lists the objects that consumers synced under an Export. */
  instances(name: string, signal: AbortSignal): Promise<Instances> {
    return this.#json({
      what: `list the objects of Export ${JSON.stringify(name)}`,
      path: `/api/catalog/${encodeURIComponent(name)}/instances`,
      shape: INSTANCES,
      maxBytes: MAX_LIST_BYTES,
      missing: NO_SUCH_EXPORT,
    }, signal);
  }

  /** Lists consumer clusters, and Grants that no cluster uses yet. */
  clusters(signal: AbortSignal): Promise<Clusters> {
    const call = { what: "list the clusters", path: "/api/clusters", maxBytes: MAX_LIST_BYTES };
    return this.#json({ ...call, shape: CLUSTERS }, signal);
  }

  /** Downloads the konnector's manifest as YAML text, unchecked. */
  async konnectorManifest(signal: AbortSignal): Promise<string> {
    const call = { what: "fetch the konnector's manifest", path: "/api/konnector", isPublic: true };
    const { text } = await this.#send({ ...call, shape: anything() }, "application/yaml", signal);
    return text;
  }

  /** Binds an Export; every success replaces an earlier unused pickup. */
  bind(exportName: string, signal: AbortSignal): Promise<BindResult> {
    return this.#json({
      what: `bind Export ${JSON.stringify(exportName)}`,
      path: "/api/bind",
      body: { export: exportName },
      shape: BIND_RESULT,
      timeoutMs: BIND_MS,
      missing: NO_SUCH_EXPORT,
    }, signal);
  }

  /**
   * Uses up the pickup of a bind and returns its objects, unchecked. The URL must be one of this
   * gateway, and the request carries no token.
   */
  async pickup(result: BindResult, signal: AbortSignal): Promise<unknown> {
    const what = "pick up the bundle";
    if (!PICKUP_PATH.test(result.pickupURL)) {
      throw misshapen(this.#asked(what), "its pickup URL leads elsewhere");
    }
    const call = { what, path: result.pickupURL, shape: BUNDLE, isPublic: true };
    return (await this.#json(call, signal)).bundle;
  }

  async #json<T>(call: Call<T>, signal: AbortSignal): Promise<T> {
    const { text } = await this.#send(call, "application/json", signal);
    try {
      return call.shape.parse(JSON.parse(text), "");
    } catch (error) {
      if (error instanceof ShapeError) throw misshapen(this.#asked(call.what), error.message);
      throw misshapen(this.#asked(call.what), "it is not JSON");
    }
  }

  async #send<T>(call: Call<T>, accept: string, signal: AbortSignal): Promise<GatewayAnswer> {
    const asked = this.#asked(call.what);
    const { caPem, env } = this.#options;
    if (!call.isPublic && !this.#token) {
      throw new GatewayError("loginNeeded", asked, "nobody is logged in", loginRemedy(asked));
    }
    const answer = await sendToGateway(this.base, { caPem, env }, {
      asked,
      path: call.path,
      accept,
      body: call.body === undefined ? undefined : JSON.stringify(call.body),
      token: call.isPublic ? undefined : this.#token,
      timeoutMs: call.timeoutMs ?? READ_MS,
      maxBytes: call.maxBytes ?? MAX_BYTES,
    }, signal);
    if (answer.date) this.#clock = { gateway: answer.date, ours: new Date() };
    if (answer.status === 200) return answer;
    throw refusedBy(asked, {
      ...answer,
      error: errorIn(answer.text),
      missing: call.missing,
    });
  }

  #asked(what: string): Asked {
    const { tokenFromEnv = false } = this.#options;
    return { what, server: serverText(this.base), tokenFromEnv };
  }
}

const NO_SUCH_EXPORT = "there is no such Export";

const errorIn = (text: string): string | undefined => {
  try {
    return ERROR_BODY.parse(JSON.parse(text), "").error;
  } catch {
    return undefined;
  }
};

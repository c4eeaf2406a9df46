import { EXPORTS } from "../../common/api/resources.ts";
import { Authorizer } from "../authorization/authorizer.ts";
import { applySlots, bindSlots, pickupSlots } from "../bind/slots.ts";
import type { Config } from "../config.ts";
import { ApiCaches } from "../inventory/api_caches.ts";
import { Inventory, type InventoryDeps } from "../inventory/inventory.ts";
import { Outage } from "../inventory/outage.ts";
import type { BindDeps } from "../bind/bind.ts";
import type { KubeClient } from "../../common/kube/client.ts";
import { isServerFailure, KubeError } from "../../common/kube/kube_error.ts";
import { connectThroughProxy } from "../../common/http/connect_through_proxy.ts";
import type { Log } from "../../common/log/log.ts";
import type { Metrics } from "../../common/control/metrics.ts";
import { Histogram } from "../../common/control/prometheus.ts";
import { all, type Runnable } from "../../common/time/runnable.ts";
import { type AppDeps, createApp } from "./app.ts";
import { startMockIdp } from "./idp/mock_idp.ts";
import { createOidc } from "./idp/login.ts";
import { oidcSettings } from "./idp/settings.ts";
import { createSessionCodec } from "./auth/session.ts";
import { createTokenReviews } from "./auth/token_review.ts";
import { listen } from "./http/server.ts";

/** What the gateway needs. */
export interface GatewayDeps {
  readonly config: Config;
  readonly kube: KubeClient;
  /** Run by the caller. */
  readonly caches: InventoryDeps["caches"] & BindDeps["caches"];
  readonly metrics: Metrics;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Contents of the files that the flags name. */
  readonly oidcCaPem: string | undefined;
  readonly externalCaPem: string | undefined;
}

/** Listens at once; the returned Runnable serves until its signal aborts. */
export async function gateway(deps: GatewayDeps, stopping: AbortSignal): Promise<Runnable> {
  const { config, kube, caches, log, env } = deps;
  const now = () => new Date();
  const apis = new ApiCaches({ kube, log });
  const outage = new Outage({ probe: (signal) => lookAtProvider(kube, signal) });
  const mock = config.oidcMock ? await startMockIdp(config.oidcMockListen) : undefined;
  const codec = await createSessionCodec({
    signingKey: config.cookieSigningKey?.reveal(),
    encryptionKey: config.cookieEncryptionKey?.reveal(),
    sessionTtlMs: config.sessionTtlMs,
    now,
    onShortened: (identity, left) =>
      log.warn("a session was shortened", { subject: identity.subject, left }),
  });
  // The app needs the port for its defaults, and the server needs the app.
  const app = Promise.withResolvers<ReturnType<typeof createApp>>();
  const server = await listen(config.listenAddress, {
    fetch: async (request, bindings) => (await app.promise).fetch(request, bindings),
    log,
  });
  const externalUrl = config.externalUrl || `http://localhost:${server.port}`;
  const redirectUrl = config.oidcRedirectUrl || `${externalUrl}/api/auth/oidc/callback`;
  const oidc = createOidc({
    settings: oidcSettings(config, mock),
    redirectUrl,
    externalUrl,
    codec,
    log: log.named("oidc"),
    now,
    connection: { caPem: deps.oidcCaPem, proxy: { env, connect: connectThroughProxy } },
  });
  const provider = {
    externalAddress: config.externalAddress,
    restHost: kube.transport.target.server,
    externalCaPem: deps.externalCaPem,
  };
  const authorizer = config.authorization === "Kubernetes"
    ? new Authorizer({ kube, prefixes: config })
    : undefined;
  const bindDeps = { kube, caches, config, now, provider, authorizer };
  const appDeps: AppDeps = {
    config,
    auth: {
      codec,
      reviews: config.kubernetesAuth ? createTokenReviews({ kube, now }) : undefined,
      externalUrl,
      redirectUrl,
    },
    login: { oidc, codec, sessionTtlMs: config.sessionTtlMs, redirectUrl },
    inventory: {
      inventory: new Inventory({ caches, outage, apis, log }),
      exports: caches.exports,
      kube,
      authorizer,
    },
    outage,
    bind: { ...bindDeps, slots: bindSlots() },
    pickup: { ...bindDeps, slots: pickupSlots() },
    apply: { ...bindDeps, slots: applySlots() },
    stopping,
    log,
    observe: requestDurations(deps.metrics),
  };
  app.resolve(createApp(appDeps));
  const run = all(server.run, oidc.run, outage.run, (signal) => apis.run(signal));
  return async (signal) => {
    try {
      await run(signal);
    } finally {
      await mock?.[Symbol.asyncDispose]();
    }
  };
}

/** Reads an Export, as every bind does. NotFound or a refusal proves that the provider answers. */
async function lookAtProvider(kube: KubeClient, signal: AbortSignal): Promise<void> {
  try {
    await kube.find(EXPORTS, { name: "is-the-provider-there" }, signal);
  } catch (error) {
    if (!(error instanceof KubeError) || isServerFailure(error)) throw error;
  }
}

function requestDurations(metrics: Metrics): AppDeps["observe"] {
  const histogram = new Histogram({
    name: "http_request_duration_seconds",
    help: "Duration of HTTP requests by method, route and status",
    labelNames: ["method", "route", "status"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [metrics.registry],
  });
  return (method, route, status, seconds) =>
    histogram.observe({ method, route, status: String(status) }, seconds);
}

import http from "node:http";
import { serviceCrds } from "../common/api/crd_manifests.ts";
import {
  type Config,
  configWarnings,
  describeConfig,
  logSettings,
  parseConfig,
  PROGRAM,
} from "./config.ts";
import { ConfigError } from "../common/flags/config_error.ts";
import { errorChain, XbindError } from "../common/errors.ts";
import { gateway } from "./gateway/gateway.ts";
import { ConfigFileError } from "../common/kube/config_file_error.ts";
import { installCrds } from "../common/kube/crds.ts";
import { type Cluster, connect } from "../common/kube/connect.ts";
import { addressWarning } from "./provider/address_warning.ts";
import { manager } from "./manager.ts";
import {
  type AnyCache,
  type ProviderCaches,
  providerCaches,
  runCaches,
} from "./provider/caches.ts";
import { readPemFile } from "../common/flags/pem_file.ts";
import { createLogger, type Log } from "../common/log/log.ts";
import { createMetrics, type Metrics } from "../common/control/metrics.ts";
import { all, type Runnable } from "../common/time/runnable.ts";
import { seedRandomness } from "../common/http/seed_randomness.ts";
import { surviveUnhandled } from "../common/log/survive_unhandled.ts";
import { VERSION } from "../common/version.ts";

/** Exit codes, as `--help` lists them. */
const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** Limits the idle HTTP parsers, because each keeps the memory of its largest request. */
const MAX_IDLE_PARSERS = 8;

async function main(args: readonly string[], env: Record<string, string>): Promise<number> {
  try {
    const invocation = parseConfig(args, env);
    if (invocation.kind === "help") print(Deno.stdout, invocation.text);
    if (invocation.kind === "version") print(Deno.stdout, `xbind-backend ${VERSION}\n`);
    if (invocation.kind !== "run") return EXIT.ok;
    return await start(invocation.config, env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    print(Deno.stderr, `${error.message}\n`);
    return EXIT.usage;
  }
}

async function start(config: Config, env: Record<string, string>): Promise<number> {
  seedRandomness();
  http.setMaxIdleHTTPParsers(MAX_IDLE_PARSERS);
  const log = createLogger(logSettings(config));
  const metrics = createMetrics({ version: VERSION });
  surviveUnhandled(log, metrics.unhandledFailures);
  const stop = stopSignal(log);
  log.info("starting", { version: VERSION, settings: describeConfig(config) });
  for (const warning of configWarnings(config)) log.warn(warning);
  try {
    await run(config, env, { log, metrics }, stop);
    log.info("stopped");
    return EXIT.ok;
  } catch (error) {
    if (stop.aborted) return EXIT.ok;
    if (error instanceof ConfigError) throw error;
    const isExpected = error instanceof ConfigFileError || error instanceof XbindError;
    // A stack trace helps only with bugs. An operator needs the message.
    log.error("cannot go on", { error: isExpected ? errorChain(error) : error });
    return error instanceof ConfigFileError ? EXIT.usage : EXIT.failed;
  }
}

async function run(
  config: Config,
  env: Record<string, string>,
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
  signal: AbortSignal,
): Promise<void> {
  const files = await readFiles(config);
  const { kubeconfig } = config;
  const onAnswer = metrics.restRequests;
  const provider = await connect({ agent: PROGRAM.name, kubeconfig, env, onAnswer });
  const { kube, transport } = provider;
  using _ = transport;
  await greet(provider, config, log, signal);
  const caches = providerCaches(config, log);
  const modules: Runnable[] = [];
  if (config.enableGateway) {
    modules.push(await gateway({ config, kube, caches, metrics, log, env, ...files }, signal));
  }
  if (config.enableIssuer || config.enableReaper) {
    modules.push(await manager({ config, transport, caches, metrics, log, env }));
  }
  if (modules.length === 0) return log.info("the CRDs are installed and no module is enabled");
  await all(...modules, runCaches(neededCaches(config, caches), kube))(signal);
}

/** Waits until the provider answers and has the CRDs, and checks both at the same time. */
async function greet(
  { kube, target, answers }: Cluster,
  config: Config,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const installing = config.installCrds
    ? installCrds({ kube, log, version: VERSION }, serviceCrds(), signal)
    : undefined;
  installing?.catch(() => {}); // an unreachable provider is reported by `answers`, with a remedy
  await answers(signal);
  const warning = addressWarning(config, target);
  if (warning !== undefined) log.warn(warning);
  await installing;
}

/** Returns the caches that the enabled modules read. */
function neededCaches(config: Config, caches: ProviderCaches): AnyCache[] {
  const { grants, exports, collections, heartbeats } = caches;
  return [
    grants,
    ...(config.enableGateway || config.enableIssuer ? [exports] : []),
    ...(config.enableGateway ? [collections] : []),
    ...(config.enableGateway || config.enableReaper ? [heartbeats] : []),
  ];
}

/** Reads every file that a flag names, and throws one error with all problems. */
async function readFiles(config: Config) {
  const problems: string[] = [];
  const read = async (flag: string, file: string) => {
    if (file === "") return undefined;
    return await readPemFile(flag, file).catch((error) => {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    });
  };
  const oidcCaPem = await read("oidc-ca-file", config.oidcCaFile);
  const externalCaPem = await read("external-ca-file", config.externalCaFile);
  if (problems.length > 0) throw new ConfigError(problems);
  return { oidcCaPem, externalCaPem };
}

/** Aborts at the first SIGTERM or SIGINT; a second one ends the process at once. */
function stopSignal(log: Log): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(name, () => {
      if (controller.signal.aborted) Deno.exit(EXIT.failed);
      log.info("stopping", { signal: name });
      controller.abort(new Error(`stopped by ${name}`));
    });
  }
  return controller.signal;
}

function print(to: typeof Deno.stdout, text: string): void {
  to.writeSync(new TextEncoder().encode(text));
}

Deno.exit(await main(Deno.args, Deno.env.toObject()));

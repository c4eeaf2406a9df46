// The packed script starts modules in this order. Another order took 3 MB more (bench `start`).
import { serviceCrds } from "../common/api/crd_manifests.ts";
import { type Config, configWarnings, parseConfig, PROGRAM } from "./config.ts";
import { FLAGS } from "./flag_table.ts";
import { ConfigError } from "../common/flags/config_error.ts";
import { gateway } from "./gateway/gateway.ts";
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
import type { Log } from "../common/log/log.ts";
import { all, type Runnable } from "../common/time/runnable.ts";
import { VERSION } from "../common/version.ts";
import { type DaemonDeps, runDaemon } from "../common/daemon/run_daemon.ts";

async function run(
  { config, env, log, metrics }: DaemonDeps<Config>,
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

const backend = {
  program: PROGRAM,
  flags: FLAGS,
  parse: parseConfig,
  warnings: configWarnings,
  run,
};
Deno.exit(await runDaemon(backend, Deno.args, Deno.env.toObject()));

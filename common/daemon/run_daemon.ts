// The packed script starts modules in this order. Another order took 3 MB more (bench `start`).
import http from "node:http";
import { errorChain, XbindError } from "../errors.ts";
import { ConfigError } from "../flags/config_error.ts";
import { type LoggingConfig, logSettings } from "../flags/common_flags.ts";
import { describeConfig } from "../flags/describe_config.ts";
import type { Program } from "../flags/flag_help.ts";
import type { FlagTable } from "../flags/flag_kinds.ts";
import type { Invocation } from "../flags/parse_invocation.ts";
import { ConfigFileError } from "../kube/kube_target.ts";
import { createLogger, type Log } from "../log/log.ts";
import { createMetrics, type Metrics } from "../control/metrics.ts";
import { seedRandomness } from "../http/seed_randomness.ts";
import { surviveUnhandled } from "../log/survive_unhandled.ts";
import { VERSION } from "../version.ts";

/** A program that runs until it is told to stop. */
export interface Daemon<Config extends LoggingConfig> {
  readonly program: Program;
  readonly flags: FlagTable;
  readonly parse: (args: readonly string[], env: Env) => Invocation<Config>;
  /** Returns one sentence for each risky or useless setting, for the log at start. */
  readonly warnings: (config: Config) => readonly string[];
  /** Returns when the signal aborts, or when there is nothing left to do. */
  readonly run: (deps: DaemonDeps<Config>, signal: AbortSignal) => Promise<void>;
}

/** What a daemon runs with. */
export interface DaemonDeps<Config> {
  readonly config: Config;
  readonly env: Env;
  readonly log: Log;
  readonly metrics: Metrics;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Exit codes, as `--help` lists them. */
const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** Limits the idle HTTP parsers, because each keeps the memory of its largest request. */
const MAX_IDLE_PARSERS = 8;

/** Runs a daemon as its command line says, and returns its exit code. */
export async function runDaemon<Config extends LoggingConfig>(
  daemon: Daemon<Config>,
  args: readonly string[],
  env: Env,
): Promise<number> {
  const { name } = daemon.program;
  try {
    const invocation = daemon.parse(args, env);
    if (invocation.kind === "help") print(Deno.stdout, invocation.text);
    if (invocation.kind === "version") print(Deno.stdout, `${name} ${VERSION}\n`);
    if (invocation.kind !== "run") return EXIT.ok;
    return await start(daemon, invocation.config, env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    print(Deno.stderr, `${error.message}\nRun ${name} --help for all flags\n`);
    return EXIT.usage;
  }
}

async function start<Config extends LoggingConfig>(
  { flags, warnings, run }: Daemon<Config>,
  config: Config,
  env: Env,
): Promise<number> {
  seedRandomness();
  http.setMaxIdleHTTPParsers(MAX_IDLE_PARSERS);
  const log = createLogger(logSettings(config));
  const metrics = createMetrics({ version: VERSION });
  surviveUnhandled(log, metrics.unhandledFailures);
  const stop = stopSignal(log);
  log.info("starting", { version: VERSION, settings: describeConfig(flags, config) });
  for (const warning of warnings(config)) log.warn(warning);
  try {
    await run({ config, env, log, metrics }, stop);
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

import { type DaemonDeps, runDaemon } from "../common/daemon/run_daemon.ts";
import { connect } from "../common/kube/connect.ts";
import { type Config, parseConfig, PROGRAM } from "./config.ts";
import { FLAGS } from "./flag_table.ts";
import { manager } from "./manager.ts";

/** As many requests as to one provider. */
const MAX_IN_FLIGHT = 32;

async function run(
  { config, env, log, metrics }: DaemonDeps<Config>,
  signal: AbortSignal,
): Promise<void> {
  const { kubeconfig } = config;
  const onAnswer = metrics.restRequests;
  const consumer = await connect({
    agent: PROGRAM.name,
    kubeconfig,
    env,
    maxInFlight: MAX_IN_FLIGHT,
    onAnswer,
  });
  using _ = consumer.transport;
  await consumer.answers(signal);
  const konnector = await manager({ config, consumer, metrics, log, env });
  await konnector(signal);
}

const konnector = { program: PROGRAM, flags: FLAGS, parse: parseConfig, warnings: () => [], run };
Deno.exit(await runDaemon(konnector, Deno.args, Deno.env.toObject()));

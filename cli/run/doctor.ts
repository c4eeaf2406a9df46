import { CliError } from "../cli_error.ts";
import type { Io, Line, Style } from "../terminal/io.ts";
import { linesOf } from "../terminal/output.ts";
import { printData } from "../terminal/render.ts";
import type { ConsumerOptions, GlobalOptions } from "../options.ts";
import { type Check, checked, skipped } from "./checks.ts";
import { connectConsumer, type Consumer } from "../consumer/connect_consumer.ts";
import { checkHeartbeat, consumerChecks } from "./consumer_checks.ts";
import { gatewayChecks, type SignedIn } from "./gateway_checks.ts";

/** The flags of `kubectl bind doctor`. */
export interface DoctorOptions extends GlobalOptions, ConsumerOptions {
  readonly output?: "json" | undefined;
}

/** Prints one line per check, with its remedy; fails when a check fails. */
export async function runDoctor(io: Io, options: DoctorOptions): Promise<void> {
  const checks: Check[] = [];
  for await (const check of allChecks(io, options)) {
    checks.push(check);
    if (options.output !== undefined) continue;
    io.out([checkLine(check)]);
    if (check.manifests) {
      const { toYaml } = await import("../../common/yaml.ts");
      io.out(linesOf(toYaml(check.manifests)));
    }
  }
  if (options.output === "json") await printData(io, "json", { checks });
  const bad = checks.filter(({ status }) => status === "failed").length;
  if (bad === 0) return;
  throw new CliError(
    "failure",
    `${bad} of ${checks.length} checks failed`,
    "Fix them as their lines say, then run again: kubectl bind doctor",
  );
}

async function* allChecks(io: Io, options: DoctorOptions): AsyncGenerator<Check> {
  const signedIn: SignedIn = {};
  yield* gatewayChecks(io, options, signedIn);
  let connected: Consumer | undefined;
  const reached = await checked("consumer", async () => {
    connected = await connectConsumer(io, options, io.signal);
    return connected.version;
  });
  if (!connected) {
    yield reached;
    for (const name of ["rights", "konnector", "connections", "clusterbindings", "heartbeat"]) {
      yield skipped(name, "the consumer cluster is not available");
    }
    return;
  }
  using consumer = connected;
  const heartbeat = signedIn.gateway
    ? await checkHeartbeat(io, signedIn.gateway, consumer)
    : skipped("heartbeat", "this check needs a session");
  yield* consumerChecks(io, consumer, heartbeat.status === "ok");
  yield heartbeat;
}

const WIDEST = "clusterbindings".length;

const STYLES: Readonly<Record<Check["status"], Style>> = {
  ok: "green",
  failed: "red",
  warning: "yellow",
  skipped: "dim",
};

/** Formats a check as one line. */
function checkLine({ check, status, detail, remedy }: Check): Line {
  const text = `  ${check.padEnd(WIDEST)}  ${detail}`;
  return [
    { style: STYLES[status], text: status.padEnd("skipped".length) },
    remedy === undefined ? text : `${text}. ${remedy}`,
  ];
}

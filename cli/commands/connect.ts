import { Command } from "commander";
import { examples } from "../examples.ts";
import type { ConnectOptions } from "../run/connect.ts";
import type { Io } from "../terminal/io.ts";
import { imageOption, type Parsed, withConsumerFlags, withWriteFlags } from "../consumer_flags.ts";

/** `kubectl bind connect` */
export const connectCommand = (io: Io): Command => {
  const command = withConsumerFlags(new Command("connect"))
    .description("Install or upgrade the konnector in your cluster")
    .addOption(imageOption());
  return withWriteFlags(command, "wait until the konnector is available")
    .addHelpText(
      "after",
      examples(
        "kubectl bind connect",
        "kubectl bind connect --context dev --dry-run",
        "kubectl bind connect --konnector-image ghcr.io/xbind/konnector:v1 --wait --timeout 5m",
      ),
    )
    .action(async (_, command: Command) => {
      const { timeout: timeoutMs, ...options }: Parsed<ConnectOptions> = command.optsWithGlobals();
      const { runConnect } = await import("../run/connect.ts");
      await runConnect(io, { ...options, timeoutMs });
    });
};

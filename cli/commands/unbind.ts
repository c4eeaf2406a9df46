import { Command } from "commander";
import { examples } from "../examples.ts";
import { exportNameOf } from "../export_name.ts";
import type { UnbindOptions } from "../run/unbind.ts";
import type { Io } from "../terminal/io.ts";
import { dryRunOption, type Parsed, timeoutOption, withConsumerFlags } from "../consumer_flags.ts";

/** `kubectl bind unbind` */
export const unbindCommand = (io: Io): Command =>
  withConsumerFlags(new Command("unbind"))
    .description("Remove an Export's bundle from your cluster; the Grant stays with the provider")
    .argument("<export>", "the Export, or the name of one of its ClusterBindings")
    .addOption(dryRunOption("say what would be deleted, and delete nothing"))
    .addOption(timeoutOption())
    .addHelpText(
      "after",
      examples("kubectl bind unbind widgets --dry-run", "kubectl bind unbind widgets"),
    )
    .action(async (name: string, _, command: Command) => {
      const { timeout: timeoutMs, ...options }: Parsed<UnbindOptions> = command.optsWithGlobals();
      const { runUnbind } = await import("../run/unbind.ts");
      await runUnbind(io, exportNameOf(name), { ...options, timeoutMs });
    });

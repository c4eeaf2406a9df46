import { Command } from "commander";
import { examples } from "../examples.ts";
import type { Io } from "../terminal/io.ts";
import { withListFlags } from "../list_flags.ts";

/** `kubectl bind clusters` */
export const clustersCommand = (io: Io): Command =>
  withListFlags(new Command("clusters"))
    .description("List consumer clusters, what each has bound, and how many objects it synced")
    .addHelpText("after", examples("kubectl bind clusters", "kubectl bind clusters -o wide"))
    .action(async (_, command: Command) => {
      const { listClusters } = await import("../run/list.ts");
      await listClusters(io, command.optsWithGlobals());
    });

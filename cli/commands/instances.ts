import { Command } from "commander";
import { examples } from "../examples.ts";
import type { Io } from "../terminal/io.ts";
import { withListFlags } from "../list_flags.ts";

/** `kubectl bind instances [export]` */
export const instancesCommand = (io: Io): Command =>
  withListFlags(new Command("instances"))
    .description("List the objects that consumers synced")
    .argument("[export]", "name of an Export; all of the catalog when left out")
    .addHelpText(
      "after",
      examples(
        "kubectl bind instances",
        "kubectl bind instances widgets",
        "kubectl bind instances widgets -o yaml",
      ),
    )
    .action(async (name: string | undefined, _, command: Command) => {
      const { listInstances } = await import("../run/list.ts");
      await listInstances(io, command.optsWithGlobals(), name);
    });

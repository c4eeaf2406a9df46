import { Command } from "commander";
import { examples } from "../examples.ts";
import type { Io } from "../terminal/io.ts";

/** `kubectl bind version` */
export const versionCommand = (io: Io): Command =>
  new Command("version")
    .description("Print the versions of this client and of the gateway")
    .option("--client", "print the version of this client only")
    .addHelpText("after", examples("kubectl bind version", "kubectl bind version --client"))
    .action(async (_, command: Command) => {
      const { versions } = await import("../run/version.ts");
      await versions(io, command.optsWithGlobals());
    });

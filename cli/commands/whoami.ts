import { Command, Option } from "commander";
import { examples } from "../examples.ts";
import type { Io } from "../terminal/io.ts";

/** `kubectl bind whoami` */
export const whoamiCommand = (io: Io): Command =>
  new Command("whoami")
    .description("Print who you are to the gateway")
    .addOption(new Option("-o, --output <form>", "print in another form").choices(["json", "yaml"]))
    .addHelpText("after", examples("kubectl bind whoami", "kubectl bind whoami -o json"))
    .action(async (_, command: Command) => {
      const { whoami } = await import("../run/whoami.ts");
      await whoami(io, command.optsWithGlobals());
    });

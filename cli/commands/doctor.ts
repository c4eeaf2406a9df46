import { Command, Option } from "commander";
import { examples } from "../examples.ts";
import type { Io } from "../terminal/io.ts";
import { withConsumerFlags } from "../consumer_flags.ts";

/** `kubectl bind doctor` */
export const doctorCommand = (io: Io): Command =>
  withConsumerFlags(new Command("doctor"))
    .description("Check the gateway, your session, your cluster, and what connects them")
    .addOption(new Option("-o, --output <form>", "print in another form").choices(["json"]))
    .addHelpText("after", examples("kubectl bind doctor", "kubectl bind doctor -o json"))
    .action(async (_, command: Command) => {
      const { runDoctor } = await import("../run/doctor.ts");
      await runDoctor(io, command.optsWithGlobals());
    });

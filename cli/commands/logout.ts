import { Command } from "commander";
import { examples } from "../examples.ts";
import type { Io } from "../terminal/io.ts";

/** `kubectl bind logout` */
export const logoutCommand = (io: Io): Command =>
  new Command("logout")
    .description("Forget the session of a gateway, by default that of the last login")
    .option("--all", "forget the sessions of all gateways")
    .addHelpText("after", examples("kubectl bind logout", "kubectl bind logout --all"))
    .action(async (_, command: Command) => {
      const { logout } = await import("../run/logout.ts");
      await logout(io, command.optsWithGlobals());
    });

import { Command } from "commander";
import { VERSION } from "../common/version.ts";
import { catalogCommand } from "./commands/catalog.ts";
import { clustersCommand } from "./commands/clusters.ts";
import { completionCommand } from "./commands/completion.ts";
import { connectCommand } from "./commands/connect.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { exportCommand } from "./commands/export.ts";
import { instancesCommand } from "./commands/instances.ts";
import { loginCommand } from "./commands/login.ts";
import { logoutCommand } from "./commands/logout.ts";
import { unbindCommand } from "./commands/unbind.ts";
import { versionCommand } from "./commands/version.ts";
import { whoamiCommand } from "./commands/whoami.ts";
import { examples } from "./examples.ts";
import type { LoginIo } from "./terminal/io.ts";
import { linesOf } from "./terminal/lines_of.ts";

/** Every command and flag; what a command does is loaded when it runs. */
export const createProgram = (io: LoginIo): Command => {
  const program = new Command("kubectl bind")
    .description("Use the APIs that a provider offers in your own cluster")
    .option("--server <url>", "the gateway's base URL (default: XBIND_SERVER, else the last login)")
    .option("--ca-file <file>", "PEM certificates to trust instead of the system's roots")
    .version(`kubectl bind ${VERSION}`, "-v, --version", "print the version of this client")
    .helpOption("-h, --help", "print help for a command")
    .helpCommand("help [command]", "print help for a command")
    .addHelpText(
      "after",
      examples(
        "kubectl bind login https://bind.example.org",
        "kubectl bind catalog",
        "kubectl bind export widgets",
      ),
    );
  const commands = [
    loginCommand(io),
    logoutCommand(io),
    whoamiCommand(io),
    catalogCommand(io),
    connectCommand(io),
    exportCommand(io),
    unbindCommand(io),
    clustersCommand(io),
    instancesCommand(io),
    doctorCommand(io),
    versionCommand(io),
    completionCommand(io),
  ];
  for (const command of commands) {
    program.addCommand(command.helpOption("-h, --help", "print help for this command"));
  }
  for (const command of [program, ...commands]) {
    command
      .exitOverride()
      .showSuggestionAfterError(false)
      .configureHelp({ showGlobalOptions: true })
      .configureOutput({
        writeOut: (text) => io.out(linesOf(text)),
        writeErr: () => {},
        outputError: () => {},
      });
  }
  return program;
};

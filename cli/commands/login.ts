import { Command } from "commander";
import { examples } from "../examples.ts";
import type { LoginIo } from "../terminal/io.ts";

/** `kubectl bind login <server-url>` */
export const loginCommand = (io: LoginIo): Command =>
  new Command("login")
    .description("Log in to a provider's gateway and remember the session")
    .argument("[server-url]", "the gateway, such as bind.example.org; by default the last one")
    .option("--no-browser", "print the login URL instead of opening a browser")
    .addHelpText(
      "after",
      examples(
        "kubectl bind login https://bind.example.org",
        "kubectl bind login bind.example.org --no-browser",
        "kubectl bind login bind.example.org --ca-file ca.pem",
      ),
    )
    .action(async (server: string | undefined, _, command: Command) => {
      const { login } = await import("../run/login.ts");
      await login(io, server, command.optsWithGlobals());
    });

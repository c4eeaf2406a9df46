import { Argument, Command } from "commander";
import { examples } from "../examples.ts";
import type { Io } from "../terminal/io.ts";
import { linesOf } from "../terminal/lines_of.ts";

/** `kubectl bind completion <shell>` */
export const completionCommand = (io: Io): Command =>
  new Command("completion")
    .description("Print the script that completes command lines in a shell")
    .addArgument(
      new Argument("<shell>", "your shell").choices(["bash", "zsh", "fish", "powershell"]),
    )
    .addHelpText(
      "after",
      examples("kubectl bind completion bash", "kubectl bind completion zsh"),
    )
    .action(async (shell: "bash" | "zsh" | "fish" | "powershell") => {
      const { COMPLETION_SCRIPTS } = await import("../run/completion_scripts.ts");
      io.out(linesOf(COMPLETION_SCRIPTS[shell]));
    });

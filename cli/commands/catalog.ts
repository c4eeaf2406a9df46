import { Command } from "commander";
import { examples } from "../examples.ts";
import type { Io } from "../terminal/io.ts";
import { withListFlags } from "../list_flags.ts";

/** `kubectl bind catalog` */
export const catalogCommand = (io: Io): Command =>
  withListFlags(new Command("catalog"))
    .description("List the Exports and Collections that the provider offers")
    .addHelpText(
      "after",
      examples(
        "kubectl bind catalog",
        "kubectl bind catalog -o wide",
        "kubectl bind catalog -o json --server https://bind.example.org",
      ),
    )
    .action(async (_, command: Command) => {
      const { listCatalog } = await import("../run/list.ts");
      await listCatalog(io, command.optsWithGlobals());
    });

import { Command, Option } from "commander";
import { CliError } from "../cli_error.ts";
import { examples } from "../examples.ts";
import { exportNameOf } from "../export_name.ts";
import type { ExportOptions } from "../run/export.ts";
import type { Io } from "../terminal/io.ts";
import { imageOption, type Parsed, withConsumerFlags, withWriteFlags } from "../consumer_flags.ts";

/** `kubectl bind export` */
export const exportCommand = (io: Io): Command => {
  const command = withConsumerFlags(new Command("export"))
    .description("Bind an Export: get its credentials and apply them to your cluster")
    .argument("<name>", "the Export, as kubectl bind catalog lists it")
    .option("--install-konnector", "also install or upgrade the konnector", true)
    .addOption(new Option("--no-install-konnector").hideHelp())
    .addOption(imageOption())
    .addOption(
      new Option("-o, --output <form>", "print the bundle instead of applying it")
        .choices(["yaml"]),
    )
    .option("--replace-provider", "let the bundle replace that of another provider address");
  return withWriteFlags(command, "wait until the Connection and the ClusterBinding are Ready")
    .addHelpText(
      "after",
      examples(
        "kubectl bind export widgets",
        "kubectl bind export widgets --context dev --wait --timeout 5m",
        "kubectl bind export widgets --install-konnector=false",
        "kubectl bind export widgets -o yaml > widgets.yaml",
      ),
    )
    .action(async (name: string, _, command: Command) => {
      const { timeout: timeoutMs, ...options }: Parsed<ExportOptions> = command.optsWithGlobals();
      if (options.output && (options.wait || options.dryRun)) {
        throw new CliError(
          "usage",
          "Cannot use --output together with --wait or --dry-run: it applies nothing",
          "Leave one of them out",
        );
      }
      if (options.konnectorImage !== undefined && !options.installKonnector) {
        throw new CliError(
          "usage",
          "Cannot use --konnector-image together with --install-konnector=false: no konnector is " +
            "installed",
          "Leave one of them out",
        );
      }
      const { runExport } = await import("../run/export.ts");
      await runExport(io, exportNameOf(name), { ...options, timeoutMs });
    });
};

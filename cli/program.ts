import { Argument, Command, Option } from "commander";
import { VERSION } from "../common/version.ts";
import {
  boundGroupsFlags,
  consumerFlags,
  dryRunFlag,
  exportNameOf,
  type GlobalOptions,
  imageFlag,
  listFlags,
  type ListOptions,
  outputFlag,
  timeoutFlag,
  writeFlags,
} from "./options.ts";
import type { ConnectOptions } from "./run/connect.ts";
import type { DoctorOptions } from "./run/doctor.ts";
import type { ExportOptions } from "./run/export.ts";
import type { LoginOptions } from "./run/login.ts";
import type { UnbindOptions } from "./run/unbind.ts";
import type { LoginIo } from "./terminal/io.ts";
import { linesOf } from "./terminal/output.ts";

/** One command: its help, its flags, and the work, which is loaded when the command runs. */
interface CommandSpec<O extends GlobalOptions> {
  readonly name: string;
  readonly description: string;
  readonly argument?: Argument;
  readonly flags?: readonly Option[];
  /** Command lines for the help, without `kubectl bind`. */
  readonly examples: readonly string[];
  readonly run: (io: LoginIo, options: O, argument?: string) => Promise<void>;
}

/** Adds a command to a program. */
type AddCommand = (program: Command, io: LoginIo) => void;

const command =
  <O extends GlobalOptions = GlobalOptions>(spec: CommandSpec<O>): AddCommand => (program, io) => {
    const { name, description, argument, flags = [], examples, run } = spec;
    const added = program.command(name)
      .description(description)
      .helpOption("-h, --help", "print help for this command")
      .addHelpText("after", examplesText(examples))
      .action(async (...args: unknown[]) => {
        const given = typeof args[0] === "string" ? args[0] : undefined;
        const { timeout: timeoutMs, ...options } = added.optsWithGlobals();
        await run(
          io,
          { ...options, ...(timeoutMs === undefined ? {} : { timeoutMs }) } as O,
          given,
        );
      });
    if (argument) added.addArgument(argument);
    for (const flag of flags) added.addOption(flag);
  };

const examplesText = (examples: readonly string[]): string =>
  `\nExamples:\n${examples.map((line) => `  kubectl bind ${line}`).join("\n")}`;

const COMMANDS: readonly AddCommand[] = [
  command<LoginOptions>({
    name: "login",
    description: "Log in to a provider's gateway and remember the session",
    argument: new Argument(
      "[server-url]",
      "the gateway, such as bind.example.org; by default the last one",
    ),
    flags: [new Option("--no-browser", "print the login URL instead of opening a browser")],
    examples: [
      "login https://bind.example.org",
      "login bind.example.org --no-browser",
      "login bind.example.org --ca-file ca.pem",
    ],
    run: async (io, options, server) => (await import("./run/login.ts")).login(io, server, options),
  }),
  command<GlobalOptions & { readonly all?: boolean }>({
    name: "logout",
    description: "Forget the session of a gateway, by default that of the last login",
    flags: [new Option("--all", "forget the sessions of all gateways")],
    examples: ["logout", "logout --all"],
    run: async (io, options) => (await import("./run/logout.ts")).logout(io, options),
  }),
  command<GlobalOptions & { readonly output?: "json" | "yaml" }>({
    name: "whoami",
    description: "Print who you are to the gateway",
    flags: [outputFlag(["json", "yaml"])],
    examples: ["whoami", "whoami -o json"],
    run: async (io, options) => (await import("./run/whoami.ts")).whoami(io, options),
  }),
  command<ListOptions>({
    name: "catalog",
    description: "List the Exports and Collections that the provider offers",
    flags: listFlags(),
    examples: [
      "catalog",
      "catalog -o wide",
      "catalog -o json --server https://bind.example.org",
    ],
    run: async (io, options) => (await import("./run/list.ts")).listCatalog(io, options),
  }),
  command<ConnectOptions>({
    name: "connect",
    description: "Install or upgrade the konnector in your cluster",
    flags: [
      ...consumerFlags(),
      imageFlag(),
      ...boundGroupsFlags(),
      ...writeFlags("wait until the konnector is available"),
    ],
    examples: [
      "connect",
      "connect --context dev --dry-run",
      "connect --bound-groups",
      "connect --konnector-image ghcr.io/xbind/konnector:v1 --wait --timeout 5m",
    ],
    run: async (io, options) => (await import("./run/connect.ts")).runConnect(io, options),
  }),
  command<ExportOptions>({
    name: "export",
    description: "Bind an Export: get its credentials and apply them to your cluster",
    argument: new Argument("<name>", "the Export, as kubectl bind catalog lists it"),
    flags: [
      ...consumerFlags(),
      new Option("--install-konnector", "also install or upgrade the konnector").default(true),
      new Option("--no-install-konnector").hideHelp(),
      imageFlag(),
      ...boundGroupsFlags(),
      outputFlag(["yaml"], "print the bundle instead of applying it"),
      new Option(
        "--replace-provider",
        "let the bundle replace one whose provider has another address",
      ),
      ...writeFlags(
        "wait until Connection and ClusterBinding are Ready, and follow the first sync",
      ),
    ],
    examples: [
      "export widgets",
      "export widgets --context dev --wait --timeout 5m",
      "export widgets --install-konnector=false",
      "export widgets -o yaml > widgets.yaml",
    ],
    run: async (io, options, name = "") =>
      (await import("./run/export.ts")).runExport(io, exportNameOf(name), options),
  }),
  command<UnbindOptions>({
    name: "unbind",
    description: "Remove an Export's bundle from your cluster; the Grant stays with the provider",
    argument: new Argument("<export>", "the Export, or the name of one of its ClusterBindings"),
    flags: [
      ...consumerFlags(),
      new Option("-y, --yes", "delete the objects of its APIs without a question"),
      dryRunFlag("print what would be deleted, and delete nothing"),
      timeoutFlag(),
    ],
    examples: ["unbind widgets --dry-run", "unbind widgets --yes"],
    run: async (io, options, name = "") =>
      (await import("./run/unbind.ts")).runUnbind(io, exportNameOf(name), options),
  }),
  command<ListOptions>({
    name: "clusters",
    description: "List consumer clusters, what each has bound, and how many objects it synced",
    flags: listFlags(),
    examples: ["clusters", "clusters -o wide"],
    run: async (io, options) => (await import("./run/list.ts")).listClusters(io, options),
  }),
  command<ListOptions>({
    name: "instances",
    description: "List the objects that consumers synced",
    argument: new Argument("[export]", "name of an Export; all of the catalog when left out"),
    flags: listFlags(),
    examples: ["instances", "instances widgets", "instances widgets -o yaml"],
    run: async (io, options, name) =>
      (await import("./run/list.ts")).listInstances(io, options, name && exportNameOf(name)),
  }),
  command<DoctorOptions>({
    name: "doctor",
    description: "Check the gateway, your session, your cluster, and what connects them",
    flags: [...consumerFlags(), outputFlag(["json"])],
    examples: ["doctor", "doctor -o json"],
    run: async (io, options) => (await import("./run/doctor.ts")).runDoctor(io, options),
  }),
  command<GlobalOptions & { readonly client?: boolean }>({
    name: "version",
    description: "Print the versions of this client and of the gateway",
    flags: [new Option("--client", "print the version of this client only")],
    examples: ["version", "version --client"],
    run: async (io, options) => (await import("./run/version.ts")).versions(io, options),
  }),
  command({
    name: "completion",
    description: "Print the script that completes command lines in a shell",
    argument: new Argument("<shell>", "your shell").choices(["bash", "zsh", "fish", "powershell"]),
    examples: ["completion bash", "completion zsh"],
    run: async (io, _, shell = "") => {
      const { completionScript } = await import("./run/completion_scripts.ts");
      io.out(linesOf(completionScript(shell)));
    },
  }),
];

/** Builds the command line of `kubectl bind`: every command and every flag. */
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
      examplesText(["login https://bind.example.org", "catalog", "export widgets"]),
    )
    // The commands inherit these settings.
    .exitOverride()
    .showSuggestionAfterError(false)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => io.out(linesOf(text)),
      writeErr: () => {},
      outputError: () => {},
    });
  for (const add of COMMANDS) add(program, io);
  return program;
};

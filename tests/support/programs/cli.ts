import assert from "node:assert/strict";
import path from "node:path";
import { CLI_ENTRY, packCli } from "../../../scripts/build/pack.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { CLI_RUN_FLAGS } from "../../../scripts/run_flags.ts";

/** The variable with the folder of the client that the test runner packed. */
export const CLI_VARIABLE = "XBIND_TEST_CLI";

/** Longer than any command line takes, so that one that waits forever is reported. */
const LONGEST_RUN_MS = 300_000;

/** The environment and stdin of a command line. */
export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The whole content of stdin. */
  readonly stdin?: string;
}

/** The result of a command line. */
export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let packed: Promise<string> | undefined;

/** Returns the folder of the packed client, and packs it if no test runner did. */
export function cliScripts(): Promise<string> {
  packed ??= (async () => {
    const made = Deno.env.get(CLI_VARIABLE);
    if (made) return made;
    const dir = await Deno.makeTempDir({ prefix: "xbind-cli-packed-" });
    globalThis.addEventListener("unload", () => Deno.removeSync(dir, { recursive: true }));
    await packCli(dir, Deno.execPath());
    return dir;
  })();
  return packed;
}

/** A user with an empty home, who runs the packed client with its shipped permissions. */
export class CliUser implements AsyncDisposable {
  /** Home and working directory. */
  readonly home: string;
  readonly #scripts: string;
  readonly #running: RunningCli[] = [];

  private constructor(home: string, scripts: string) {
    this.home = home;
    this.#scripts = scripts;
  }

  /** Creates a user. `folder` holds another copy of the client. */
  static async create(folder?: string): Promise<CliUser> {
    const home = await Deno.makeTempDir({ prefix: "xbind-cli-" });
    return new CliUser(home, folder ?? await cliScripts());
  }

  /** The path of this user's saved sessions. */
  get configFile(): string {
    return path.join(this.home, ".config", "xbind", "config.json");
  }

  /** Starts a command line. Stdin stays open unless it is given. */
  start(args: readonly string[], options: CliOptions = {}): RunningCli {
    const entry = path.join(this.#scripts, CLI_ENTRY);
    const flags = ["run", "--quiet", "--no-config", "--no-lock", ...CLI_RUN_FLAGS, entry];
    return this.#spawn(Deno.execPath(), [...flags, ...args], options);
  }

  /** Runs a command line, with an empty stdin unless it is given. */
  async run(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    return await this.start(args, { stdin: "", ...options }).ended();
  }

  /** Runs a program, such as the real kubectl, with the plugin on its `PATH`. */
  async runWithPlugin(
    program: string,
    args: readonly string[],
    options: CliOptions = {},
  ): Promise<CliResult> {
    const PATH = `${this.#scripts}:${path.dirname(program)}:/usr/local/bin:/usr/bin:/bin`;
    const env = { PATH, ...options.env };
    return await this.#spawn(program, args, { stdin: "", ...options, env }).ended();
  }

  /** Runs a command line that must succeed, and returns its stdout. */
  async output(args: readonly string[], options?: CliOptions): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, options);
    assert.equal(code, 0, `kubectl bind ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  /** Saves a session as a login does. */
  async saveSession(server: string, token: string): Promise<void> {
    await Deno.mkdir(path.dirname(this.configFile), { recursive: true });
    const config = { current: server, servers: { [server]: { token } } };
    await Deno.writeTextFile(this.configFile, JSON.stringify(config));
  }

  /** Reads this user's saved sessions. */
  async savedConfig(): Promise<unknown> {
    return JSON.parse(await Deno.readTextFile(this.configFile));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const running of this.#running) await running[Symbol.asyncDispose]();
    await Deno.remove(this.home, { recursive: true });
  }

  #spawn(program: string, args: readonly string[], options: CliOptions): RunningCli {
    const child = new Deno.Command(program, {
      args: [...args],
      cwd: this.home,
      clearEnv: true,
      env: {
        HOME: this.home,
        PATH: "/usr/local/bin:/usr/bin:/bin",
        // The cache is beside the client, so that only the first run compiles it.
        DENO_DIR: Deno.env.get("DENO_DIR") ?? path.join(this.#scripts, ".deno"),
        DENO_NO_UPDATE_CHECK: "1",
        ...options.env,
      },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const running = new RunningCli(child, options.stdin);
    this.#running.push(running);
    return running;
  }
}

/** A running command line. */
export class RunningCli implements AsyncDisposable {
  stdout = "";
  stderr = "";
  readonly #child: Deno.ChildProcess;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<unknown>;

  constructor(child: Deno.ChildProcess, stdin: string | undefined) {
    this.#child = child;
    this.#stdin = child.stdin.getWriter();
    this.#reading = Promise.all([
      read(child.stdout, (text) => this.stdout += text),
      read(child.stderr, (text) => this.stderr += text),
    ]);
    if (stdin !== undefined) this.type(stdin).then(() => this.endStdin());
  }

  /** Writes to stdin, and ignores a process that does not read it. */
  async type(text: string): Promise<void> {
    if (text !== "") await this.#stdin.write(new TextEncoder().encode(text)).catch(() => {});
  }

  /** Closes stdin. */
  async endStdin(): Promise<void> {
    await this.#stdin.close().catch(() => {});
  }

  /** Waits for the first line of stdout. */
  async firstLine(): Promise<string> {
    return await eventually("a line of stdout", () => {
      const end = this.stdout.indexOf("\n");
      return end < 0 ? undefined : this.stdout.slice(0, end);
    }).catch((cause) => {
      throw new Error(`No line of stdout; stderr: ${this.stderr}`, { cause });
    });
  }

  /** Waits until stderr matches this text. */
  async said(text: RegExp): Promise<void> {
    await eventually(`stderr has ${text}`, () => text.test(this.stderr));
  }

  /** Sends a signal. */
  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Waits until the process ends, and kills a process that does not. */
  async ended(): Promise<CliResult> {
    let isStuck = false;
    const limit = setTimeout(() => {
      isStuck = true;
      this.kill("SIGKILL");
    }, LONGEST_RUN_MS);
    const { code } = await this.#child.status;
    clearTimeout(limit);
    await this.#reading;
    if (isStuck) {
      const output = `stdout: ${this.stdout}\nstderr: ${this.stderr}`;
      throw new Error(`Still running after ${LONGEST_RUN_MS / 1000} s; ${output}`);
    }
    await this.endStdin();
    return { code, stdout: this.stdout, stderr: this.stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await this.ended();
  }
}

async function read(stream: ReadableStream<Uint8Array>, onText: (text: string) => void) {
  for await (const text of stream.pipeThrough(new TextDecoderStream())) onText(text);
}

import type { ControlPlane } from "../../../scripts/controlplane/control_plane.ts";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { DAEMON_ENV, DAEMON_SCRIPT_FLAGS } from "../../../scripts/run_flags.ts";

/** One line of a daemon's log. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** How a daemon is started. */
export interface DaemonOptions {
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The kubeconfig of the daemon, by default of an administrator of its own name. */
  readonly kubeconfig?: string;
  /** Flags for Deno, such as `--inspect`, besides those of the image. */
  readonly denoFlags?: readonly string[];
  /** A program that replaces the packed script, such as an executable, and its first arguments. */
  readonly launch?: readonly string[];
}

/** Backend or konnector, packed once and started with the flags of the image. */
export class DaemonProgram {
  readonly #name: string;
  readonly #pack: (outFile: string) => Promise<void>;
  #packed: Promise<string> | undefined;

  constructor(name: string, pack: (outFile: string) => Promise<void>) {
    this.#name = name;
    this.#pack = pack;
  }

  /** The variable with the path of the script that the test runner packed. */
  get variable(): string {
    return `XBIND_TEST_${this.#name.toUpperCase()}`;
  }

  /** Returns the path of the packed script, and packs it if no test runner did. */
  script(): Promise<string> {
    return this.#packed ??= this.#find();
  }

  async #find(): Promise<string> {
    const made = Deno.env.get(this.variable);
    if (made) return made;
    const dir = await Deno.makeTempDir({ prefix: "xbind-packed-" });
    globalThis.addEventListener("unload", () => Deno.removeSync(dir, { recursive: true }));
    const script = `${dir}/xbind-${this.#name}.js`;
    await this.#pack(script);
    return script;
  }

  /** Starts a process with only these arguments. It ends with the control plane. */
  async spawn(
    plane: ControlPlane,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    { denoFlags = [], launch }: Pick<DaemonOptions, "denoFlags" | "launch"> = {},
  ): Promise<DaemonProcess> {
    const dir = await Deno.makeTempDir({ dir: plane.dir, prefix: `${this.#name}-` });
    const [program = "", ...first] = launch ??
      [Deno.execPath(), "run", ...DAEMON_SCRIPT_FLAGS, ...denoFlags, await this.script()];
    const child = new Deno.Command(program, {
      args: [...first, ...args],
      cwd: dir,
      clearEnv: true,
      env: { HOME: dir, ...DAEMON_ENV, ...denoEnv(), ...env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      detached: true,
    }).spawn();
    plane.adopt(this.#name, child);
    return new DaemonProcess(this.#name, child, dir);
  }

  /** Starts a process on its cluster, with its servers on free ports. */
  async start(plane: ControlPlane, options: DaemonOptions = {}): Promise<DaemonProcess> {
    const user = `${this.#name}-${crypto.randomUUID().slice(0, 8)}`;
    const kubeconfig = options.kubeconfig ?? await plane.kubeconfigFor(user, ["system:masters"]);
    const args = [
      "--metrics-bind-address=127.0.0.1:0",
      "--health-probe-bind-address=127.0.0.1:0",
      ...options.flags ?? [],
    ];
    return await this.spawn(plane, args, { KUBECONFIG: kubeconfig, ...options.env }, options);
  }
}

/** A process of backend or konnector, in an empty directory. */
export class DaemonProcess implements AsyncDisposable {
  readonly #name: string;
  readonly #child: Deno.ChildProcess;
  readonly #dir: string;
  readonly #reading: Promise<void>;
  #killed: Promise<void> | undefined;
  /** The lines of stderr so far. */
  readonly lines: string[] = [];
  stdout = "";

  constructor(name: string, child: Deno.ChildProcess, dir: string) {
    this.#name = name;
    this.#child = child;
    this.#dir = dir;
    this.#reading = Promise.all([
      readLines(child.stderr, (line) => this.lines.push(line)),
      readLines(child.stdout, (line) => this.stdout += `${line}\n`),
    ]).then(() => {});
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** The structured log so far. */
  get log(): LogLine[] {
    return this.lines.flatMap((line) => {
      try {
        return [JSON.parse(line)];
      } catch {
        return [];
      }
    });
  }

  /** Waits for a log line with this message. A failure shows the whole log. */
  async logged(msg: string): Promise<LogLine> {
    return await eventually(`the ${this.#name} logs "${msg}"`, () => {
      return this.log.find((line) => line.msg === msg);
    }).catch((cause) => {
      throw new Error(`No "${msg}" in the log: ${this.lines.join("\n")}`, { cause });
    });
  }

  /** Waits for the address that serves this path, such as `http://127.0.0.1:4711`. */
  async addressOf(path: string): Promise<string> {
    return await eventually(`the ${this.#name} serves ${path}`, () => {
      const line = this.log.find(({ msg, paths }) =>
        msg === "listening" && Array.isArray(paths) && paths.includes(path)
      );
      return typeof line?.["address"] === "string" ? line["address"] : undefined;
    });
  }

  /** Reads the metrics in Prometheus' text format. */
  async metrics(): Promise<string> {
    return await (await fetch(`${await this.addressOf("/metrics")}/metrics`)).text();
  }

  /** Sends a signal. */
  signal(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Waits until the process ends, and returns the exit code. */
  async ended(): Promise<number> {
    const { code } = await this.#child.status;
    await this.#reading;
    return code;
  }

  /** Sends SIGTERM, and returns the exit code. */
  async stop(): Promise<number> {
    this.signal("SIGTERM");
    return await this.ended();
  }

  /** Kills the process and removes its directory; does nothing the second time. */
  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#killed ??= this.#kill());
  }

  async #kill(): Promise<void> {
    try {
      this.signal("SIGKILL");
    } catch {
      // It has ended already.
    }
    await this.ended();
    await Deno.remove(this.#dir, { recursive: true });
  }
}

/** The variables that Deno needs to find its cache. */
function denoEnv(): Record<string, string> {
  const dir = Deno.env.get("DENO_DIR");
  return { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1", ...(dir ? { DENO_DIR: dir } : {}) };
}

async function readLines(
  stream: ReadableStream<Uint8Array>,
  onLine: (line: string) => void,
): Promise<void> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(onLine);
  }
  if (rest !== "") onLine(rest);
}

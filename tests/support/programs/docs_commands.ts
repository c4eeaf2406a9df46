import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import path from "node:path";
import { eventually } from "../../../scripts/controlplane/eventually.ts";
import { freePort } from "../../../scripts/controlplane/free_port.ts";
import { Guard, type GuardedProcess } from "../../../scripts/controlplane/guard.ts";
import { type CommandBlock, filledIn, isPrinted } from "../../../scripts/docs/docs_blocks.ts";
import { DAEMON_SCRIPT_FLAGS } from "../../../scripts/run_flags.ts";
import { Backend } from "./backend.ts";
import { cliScripts } from "./cli.ts";
import { Konnector } from "./konnector.ts";
import { browse } from "../peers/scripted_browser.ts";

const ROOT = path.join(import.meta.dirname ?? "", "..", "..", "..");
/** Folders that the copy of the sources leaves out, because the pages do not use them. */
const LEFT_OUT = [".git", "dist", "coverage", "node_modules"];
/** The backend's address on the pages, which tests replace by a free port. */
const DOCUMENTED = "localhost:8080";
const PATIENCE = { timeoutMs: 240_000, everyMs: 50 };
/** The URL of a login that a browser must finish. */
const LOGIN_URL = /^https?:\S+\/api\/auth\/oidc\/login\?redirect=\S+$/gm;

/** The programs and files of a terminal. */
export interface TerminalOptions {
  /** The directory of the real kubectl and the other programs of a control plane. */
  readonly programs: string;
  /** Files that the page expects in the working directory, as links. */
  readonly files?: Readonly<Record<string, string>>;
}

/**
 * A reader who follows a page: a shell in a copy of the sources, with an empty home, the three
 * programs and the real kubectl on the `PATH`, and a browser that finishes every login of a
 * command.
 */
export class Terminal implements AsyncDisposable {
  readonly #guard: Guard;
  readonly #env: Record<string, string>;
  readonly #port = freePort();
  #blocks = 0;
  #staying: { readonly process: GuardedProcess; readonly log: string }[] = [];

  private constructor(guard: Guard, env: Record<string, string>) {
    this.#guard = guard;
    this.#env = {
      ...env,
      XBIND_LISTEN_ADDRESS: `127.0.0.1:${this.#port}`,
      XBIND_METRICS_BIND_ADDRESS: "127.0.0.1:0",
      XBIND_HEALTH_PROBE_BIND_ADDRESS: "127.0.0.1:0",
    };
  }

  static async open({ programs: kubernetes, files = {} }: TerminalOptions): Promise<Terminal> {
    const dir = path.join(tmpdir(), `xbind-docs-${crypto.randomUUID().slice(0, 8)}`);
    const guard = await Guard.start(dir);
    const clone = path.join(dir, "clone");
    const bin = path.join(dir, "bin");
    for (const made of [clone, bin, path.join(dir, "home")]) await Deno.mkdir(made);
    for await (const { name } of Deno.readDir(ROOT)) {
      if (!LEFT_OUT.includes(name)) {
        await Deno.symlink(path.join(ROOT, name), path.join(clone, name));
      }
    }
    for (const [name, target] of Object.entries(files)) {
      await Deno.symlink(target, path.join(clone, name));
    }
    const deno = `exec "${Deno.execPath()}"`;
    const flags = DAEMON_SCRIPT_FLAGS.join(" ");
    const programs = {
      "xbind-backend": `${deno} run ${flags} "${await Backend.script()}" "$@"`,
      "xbind-konnector": `${deno} run ${flags} "${await Konnector.script()}" "$@"`,
      // Stands for `npx -y deno@<version>`, which needs the network.
      npx: `shift 2\n${deno} "$@"`,
    };
    for (const [name, script] of Object.entries(programs)) {
      await Deno.writeTextFile(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
    await Deno.symlink(Deno.execPath(), path.join(bin, "deno"));
    await Deno.writeTextFile(path.join(dir, "state"), `cd "${clone}"\n`);
    return new Terminal(guard, {
      HOME: path.join(dir, "home"),
      PATH: [bin, await cliScripts(), kubernetes, "/usr/local/bin:/usr/bin:/bin"].join(":"),
      DENO_DIR: await denoDir(),
      DENO_NO_UPDATE_CHECK: "1",
      KUBEBUILDER_ASSETS: kubernetes,
      KUBECONFIG: "",
      NO_COLOR: "1",
      // Opens no browser on the screen of the developer.
      SSH_TTY: "none",
    });
  }

  /** Runs a block, and fails unless it succeeds and prints the output on the page. */
  async follow({ commands, mode, prints }: CommandBlock): Promise<void> {
    const shown = await Promise.all(this.#staying.map(({ log }) => read(log)));
    const text = filledIn(this.#here(commands), shown.join("\n"));
    if (mode.kind === "stays") {
      if (!mode.alsoStays) await this.stop();
      return await this.#stay(text, mode.until);
    }
    const { process, log } = await this.#start(text);
    const opened = new Set<string>();
    await eventually("the commands end", async () => {
      for (const [url] of (await read(log)).matchAll(LOGIN_URL)) {
        if (!opened.has(url)) assert.equal((await browse(url)).status, 200);
        opened.add(url);
      }
      return process.status;
    }, PATIENCE).catch((cause) => failed(text, log, cause));
    const output = await read(log);
    if (process.status?.code !== 0) {
      await failed(text, log, `exit code ${process.status?.code}`);
    }
    if (prints !== undefined && !isPrinted(this.#here(prints), output)) {
      assert.fail(`It should print:\n${prints}\n\nIt printed:\n${output}`);
    }
  }

  /** Sends Ctrl-C to commands that still run. */
  async stop(): Promise<void> {
    for (const { process } of this.#staying.splice(0)) {
      if (!process.status) Deno.kill(-process.pid, "SIGINT");
      await process.ended();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#guard[Symbol.asyncDispose]();
  }

  #here(text: string): string {
    return text.replaceAll(DOCUMENTED, `localhost:${this.#port}`);
  }

  async #stay(text: string, until: string): Promise<void> {
    const { process, log } = await this.#start(text);
    this.#staying.push({ process, log });
    await eventually(`it prints ${until}`, async () => {
      return (await read(log)).includes(until) || process.status;
    }, PATIENCE).catch((cause) => failed(text, log, cause));
    if (process.status) await failed(text, log, "it ended");
  }

  /** Starts a shell for a block, with the variables and the directory of the previous block. */
  async #start(commands: string): Promise<{ process: GuardedProcess; log: string }> {
    const { dir } = this.#guard;
    const name = `block-${++this.#blocks}`;
    const script = path.join(dir, `${name}.sh`);
    const state = path.join(dir, "state");
    await Deno.writeTextFile(
      script,
      `set -e -a\n. "${state}"\n${commands}\n` +
        `export -p > "${state}"\nprintf 'cd "%s"\\n' "$PWD" >> "${state}"\n`,
    );
    const log = this.#guard.logFile(name);
    await Deno.writeTextFile(log, "");
    const process = this.#guard.spawn({ name, command: "sh", args: [script], env: this.#env });
    return { process, log };
  }
}

const read = (file: string): Promise<string> => Deno.readTextFile(file);

async function failed(commands: string, log: string, cause: unknown): Promise<never> {
  throw new Error(`Cannot follow the page:\n${commands}\n\nIt printed:\n${await read(log)}`, {
    cause,
  });
}

/** The directory of Deno's downloads, which the reader's empty home must not change. */
async function denoDir(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

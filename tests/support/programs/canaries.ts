import { join } from "node:path";
import { temporaryDir } from "../planes/kube.ts";

/** A file that records whether it was opened. */
interface Canary {
  readonly path: string;
  readonly writer: Deno.ChildProcess;
  wasOpened: boolean;
}

/** Files, a program and a listener that record each use, and must not be used. */
export class Canaries implements AsyncDisposable {
  /** The content of the files. */
  readonly text = `canary-${crypto.randomUUID()}`;
  /** A program that leaves a file behind when it runs. */
  readonly program: string;
  /** The number of connections to the listener. */
  connections = 0;
  readonly #ran: string;
  readonly #dir: Awaited<ReturnType<typeof temporaryDir>>;
  readonly #files = new Map<string, Canary>();
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #accepting: Promise<void>;

  private constructor(dir: Awaited<ReturnType<typeof temporaryDir>>) {
    this.#dir = dir;
    this.program = join(dir.path, "program");
    this.#ran = join(dir.path, "the-program-ran");
    this.#accepting = this.#accept();
  }

  static async start(): Promise<Canaries> {
    const canaries = new Canaries(await temporaryDir());
    const script = `#!/bin/sh\necho "$@" >> '${canaries.#ran}'\necho '{}'\n`;
    await Deno.writeTextFile(canaries.program, script, { mode: 0o755 });
    return canaries;
  }

  /** `host:port` of the listener. */
  get address(): string {
    return `127.0.0.1:${this.#listener.addr.port}`;
  }

  /** Creates a file, and returns its path. It is a pipe, whose writer waits for a reader. */
  file(name: string): string {
    const known = this.#files.get(name);
    if (known) return known.path;
    const path = join(this.#dir.path, name);
    const args = ["-c", 'mkfifo "$0" && echo "$1" > "$0"', path, this.text];
    const writer = new Deno.Command("sh", { args, stdin: "null" }).spawn();
    const canary: Canary = { path, writer, wasOpened: false };
    writer.status.then(({ success }) => canary.wasOpened = success);
    this.#files.set(name, canary);
    return path;
  }

  /** Returns everything that was used. */
  async touched(): Promise<string[]> {
    const opened = [...this.#files].filter(([, { wasOpened }]) => wasOpened);
    const ran = await Deno.stat(this.#ran).then(() => true, () => false);
    return [
      ...opened.map(([name]) => `${name} was opened`),
      ...(ran ? ["the program ran"] : []),
      ...(this.connections > 0 ? [`${this.connections} connections`] : []),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#accepting;
    for (const { writer, wasOpened } of this.#files.values()) {
      if (!wasOpened) writer.kill("SIGKILL");
      await writer.status;
    }
    await this.#dir[Symbol.asyncDispose]();
  }

  async #accept(): Promise<void> {
    for await (const connection of this.#listener) {
      this.connections++;
      connection.close();
    }
  }
}

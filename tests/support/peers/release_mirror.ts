import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";

/** How the mirror serves a file: in full, or it ends or pauses in the middle. */
export type Serving = "whole" | "cut off" | "stalled";

/** The SHA-256 of some text or octets. */
export const sha256 = (content: string | Uint8Array): string =>
  createHash("sha256").update(content).digest("hex");

/** A tar.gz archive with one program. */
export const archiveWith = async (member: string, content: string): Promise<Uint8Array> => {
  const dir = await Deno.makeTempDir({ prefix: "xbind-archive-" });
  try {
    await Deno.mkdir(join(dir, dirname(member)), { recursive: true });
    await Deno.writeTextFile(join(dir, member), content, { mode: 0o755 });
    const args = ["-czf", "-", "-C", dir, member];
    return (await new Deno.Command("tar", { args }).output()).stdout;
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
};

/** A mirror of official releases on loopback that can misbehave. */
export class ReleaseMirror implements AsyncDisposable {
  readonly #files = new Map<string, { content: Uint8Array; serving: Serving }>();
  readonly #server = createServer((request, response) => this.#answer(request.url ?? "", response));

  private constructor() {}

  static async start(): Promise<ReleaseMirror> {
    const mirror = new ReleaseMirror();
    mirror.#server.listen(0, "127.0.0.1");
    await once(mirror.#server, "listening");
    return mirror;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mirror`;
  }

  /** Serves a file, such as `dl.k8s.io/v1.36.3/bin/linux/amd64/kubectl`. */
  put(path: string, content: string | Uint8Array, serving: Serving = "whole"): void {
    const octets = typeof content === "string" ? new TextEncoder().encode(content) : content;
    this.#files.set(`/mirror/${path}`, { content: octets, serving });
  }

  /** Serves a file no longer. */
  remove(path: string): void {
    this.#files.delete(`/mirror/${path}`);
  }

  #answer(path: string, response: ServerResponse): void {
    const file = this.#files.get(path);
    if (!file) return void response.writeHead(404).end("There is no such file");
    const { content, serving } = file;
    response.writeHead(200, { "Content-Length": content.length });
    if (serving === "whole") return void response.end(content);
    const half = content.subarray(0, content.length / 2);
    response.write(half, () => serving === "cut off" && response.destroy());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

/** How a server is put under load. */
export interface Load {
  readonly token?: string;
  readonly inFlight: number;
  readonly seconds: number;
  readonly encoding?: "gzip" | "identity";
  /** Asks only for something else than this; the answers must be 304. */
  readonly etag?: string;
}

/** What the load generator reports. */
export interface LoadResult {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Of one answer, as it was sent. */
  readonly bytes: number;
}

/** Puts load on a URL from a process of its own. */
export async function load(url: string, load: Load): Promise<LoadResult> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", programOf("http_load.ts"), url, JSON.stringify(load)],
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the load generator failed");
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** A server in a process of its own. */
export interface Server extends AsyncDisposable {
  readonly url: string;
}

/** Starts a program of this folder that prints its URL and serves. */
export async function serve(program: string, ...args: string[]): Promise<Server> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", programOf(program), ...args],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  return {
    url: new TextDecoder().decode(value).trim(),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await reader.cancel();
      await child.status;
    },
  };
}

const programOf = (name: string): string => new URL(name, import.meta.url).pathname;

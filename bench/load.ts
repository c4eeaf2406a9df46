/** The options of a load. */
export interface Load {
  readonly token?: string;
  /** The tokens of several callers, who take turns; replaces `token`. */
  readonly tokens?: readonly string[];
  readonly inFlight: number;
  readonly seconds: number;
  readonly encoding?: "gzip" | "identity";
  /** The If-None-Match header. The answers must then be 304. */
  readonly etag?: string;
}

/** The report of the load generator. */
export interface LoadResult {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** The size of one body, as sent. */
  readonly bytes: number;
}

/** Puts load on a URL from a separate process. */
export async function load(url: string, load: Load): Promise<LoadResult> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", programOf("http_load.ts"), url, JSON.stringify(load)],
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the load generator failed");
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** A server in its own process. */
export interface Server extends AsyncDisposable {
  readonly url: string;
}

/** Starts a server program of this folder, which prints its URL. */
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

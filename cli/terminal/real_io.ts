import { type LoginIo, platform } from "./io.ts";
import { createOutput, type Write } from "./output.ts";
import { stdinLines } from "./stdin_lines.ts";

const encoder = new TextEncoder();

/** The terminal, the environment and the signals of this process. */
export const createRealIo = (args: readonly string[]): LoginIo => {
  const env = Deno.env.toObject();
  const isTerminal = {
    stdin: Deno.stdin.isTerminal(),
    stdout: Deno.stdout.isTerminal(),
    stderr: Deno.stderr.isTerminal(),
  };
  return {
    ...createOutput({ env, isTerminal }, writeAll),
    args,
    env,
    isTerminal,
    now: () => new Date(),
    signal: interruption(),
    platform: platform(),
    lines: stdinLines,
    openBrowser,
  };
};

/** Writes to the end, however slowly it is read. */
const writeAll: Write = (to, text) => {
  const sink = Deno[to];
  const bytes = encoder.encode(text);
  for (let at = 0; at < bytes.length;) {
    try {
      at += sink.writeSync(bytes.subarray(at));
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  }
};

/** Aborts at the first SIGINT or SIGTERM; a second one ends the process at once. */
const interruption = (): AbortSignal => {
  const controller = new AbortController();
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  for (const name of signals) {
    Deno.addSignalListener(name, () => {
      if (controller.signal.aborted) Deno.exit(1);
      controller.abort(new InterruptedError(name));
    });
  }
  return controller.signal;
};

/** Somebody pressed Ctrl-C, or ended the process. */
export class InterruptedError extends Error {
  override readonly name = "InterruptedError";

  constructor(signal: string) {
    super(`interrupted by ${signal}`);
  }
}

const OPENERS: Readonly<Record<LoginIo["platform"], readonly [string, ...string[]]>> = {
  linux: ["xdg-open"],
  darwin: ["open"],
  windows: ["rundll32", "url.dll,FileProtocolHandler"],
};

const openBrowser: LoginIo["openBrowser"] = (url) => {
  const [command, ...args] = OPENERS[platform()];
  try {
    const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
    new Deno.Command(command, { args: [...args, url], ...quiet }).spawn().unref();
    return Promise.resolve(true);
  } catch {
    return Promise.resolve(false);
  }
};

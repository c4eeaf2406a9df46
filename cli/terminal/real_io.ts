import { type LoginIo, platform } from "./io.ts";
import { createOutput, type Write } from "./output.ts";

const encoder = new TextEncoder();

/** Connects a command to the terminal, the environment and the signals of this process. */
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

/** Writes all of the text, and waits for a slow reader. */
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

/** The user pressed Ctrl-C, or the process got SIGTERM. */
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

/** Longer than any URL with a token; the rest of a longer line is dropped. */
const MAX_LINE = 65_536;
/** Ctrl-D. Linux stores it as NUL if it was typed before the terminal was in raw mode. */
const END_OF_INPUT = ["\u0004", "\0"];
const RUBOUT = /[\b\u007f]/;

/**
 * Reads lines from stdin until its end or the signal. A terminal is switched to raw mode: it then
 * does not echo secrets, and accepts lines longer than its own limit.
 */
async function* stdinLines(signal: AbortSignal): AsyncGenerator<string> {
  const isTerminal = Deno.stdin.isTerminal();
  const reader = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).getReader();
  const onAbort = () => {
    if (isTerminal) Deno.stdin.setRaw(false);
    reader.cancel().catch(() => {});
  };
  if (isTerminal) Deno.stdin.setRaw(true, { cbreak: Deno.build.os !== "windows" });
  signal.addEventListener("abort", onAbort, { once: true });
  let line = "";
  try {
    while (!signal.aborted) {
      const { done, value } = await reader.read();
      if (done) break;
      for (const character of value) {
        if (character === "\n" || character === "\r") {
          yield line;
          line = "";
        } else if (isTerminal && END_OF_INPUT.includes(character)) return;
        else if (isTerminal && RUBOUT.test(character)) line = line.slice(0, -1);
        else if (line.length < MAX_LINE) line += character;
      }
    }
    if (line !== "") yield line;
  } finally {
    signal.removeEventListener("abort", onAbort);
    onAbort();
  }
}

/** Longer than any URL with a token; the rest of such a line is dropped. */
const MAX_LINE = 65_536;
const END_OF_INPUT = "\u0004";
const RUBOUT = /[\b\u007f]/;

/**
 * Lines of stdin until its end or the signal. What is typed into a terminal is not shown, as it may
 * be a secret, and may be longer than terminals allow for a line.
 */
export async function* stdinLines(signal: AbortSignal): AsyncGenerator<string> {
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
        } else if (isTerminal && character === END_OF_INPUT) return;
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

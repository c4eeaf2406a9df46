const encoder = new TextEncoder();

/** Prints a line on stdout, or elsewhere. */
export function say(line: string, out: typeof Deno.stderr = Deno.stdout): void {
  out.writeSync(encoder.encode(`${line}\n`));
}

const encoder = new TextEncoder();

/** Prints a line on stdout. */
export function say(line: string): void {
  Deno.stdout.writeSync(encoder.encode(`${line}\n`));
}
